"""Signing in and out, and pages for those who are wrong here."""

from tests.browser.pages.place import Place


def sign_in(_shop):
    return Place("/accounts/login/", shows="Sign in to see your requests")


def sign_in_with_errors(_shop):
    return Place("/accounts/login/", send="Sign in", shows="There is a problem")


def sign_out(shop):
    return Place("/accounts/logout/", shop.customer().user, shows="Sign out?")


def forgotten_password(_shop):
    return Place("/accounts/password/reset/", shows="password")


def not_found(shop):
    return Place("/support/requests/RF-0000-0000/", shop.customer().user, 404, shows="Page not found")


def not_found_signed_out(_shop):
    return Place("/nothing-here/", status=404, shows="Page not found")


def forbidden(shop):
    return Place("/admin/review/", shop.customer().user, 403, shows="You can't open this page")


def no_customer(shop):
    return Place("/support/", shop.reviewer(), 403, shows="This account has no orders here")
