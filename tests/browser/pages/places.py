"""Every page that people see, each with the rows that it needs."""

from tests.browser.pages import places_account as account
from tests.browser.pages import places_books as books
from tests.browser.pages import places_customer as customer
from tests.browser.pages import places_house_texts as house
from tests.browser.pages import places_staff as staff

PLACES = (
    *(account.sign_in, account.sign_in_with_errors, account.sign_out, account.forgotten_password),
    *(account.not_found, account.not_found_signed_out, account.forbidden, account.no_customer),
    *(customer.ask, customer.ask_without_orders, customer.ask_with_errors),
    *(customer.check, customer.check_a_suggestion, customer.check_without_an_order),
    *(customer.check_beside_an_open_request, customer.requests_empty, customer.requests),
    *(customer.status_received, customer.status_completed, customer.status_with_people),
    *(customer.status_unknown, customer.name_the_order, customer.name_the_order_with_errors),
    customer.confirm_the_suggested_order,
    *(customer.add_information, customer.add_information_with_errors, customer.added_information),
    *(customer.withdraw, customer.withdraw_too_late, customer.ask_a_person),
    *(staff.queue_empty, staff.queue, staff.queue_without_a_match, staff.no_merchant, staff.case),
    *(staff.case_with_attempts, staff.look_up, staff.approve, staff.approve_with_errors, staff.reject),
    *(staff.scoreboard, staff.claimed_case, staff.read_again, staff.rebuild, staff.close),
    *(staff.close_with_errors, staff.close_completed, staff.reference, staff.give_up),
    *(staff.give_up_with_errors, staff.case_with_a_proposal, staff.confirm_give_up, staff.decline_give_up),
    *(
        books.frozen_payment,
        books.release_refused,
        books.difference,
        books.explain,
        books.explain_with_errors,
    ),
    *(books.queue_with_both, books.scoreboard_with_books),
    *(
        house.texts_empty,
        house.texts,
        house.text_upload,
        house.text_upload_with_errors,
        house.text_that_waits,
    ),
    *(house.text_in_use, house.text_approve, house.text_reject_with_errors),
)
