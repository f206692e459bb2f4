"""Merchants, customers with the users they sign in as, and orders of a load."""

from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from ledger.loading.planning.plan import Plan
from ledger.loading.rows import CustomerRow, OrderRow
from ledger.models import Customer, Merchant, Order


def plan_merchants(plan: Plan) -> None:
    """Add merchants that are not there; names, regions, accounts and hosts of others follow the file."""
    for row in plan.rows.merchants.values():
        values = {
            "name": row.name,
            "region": row.region,
            "gateway_account": row.gateway_account,
            "host": row.host,
        }
        known = plan.stored.merchants.get(row.code)
        if row.host and plan.stored.hosts.setdefault(row.host, row.code) != row.code:
            plan.refuse(row.where, f"host {row.host} belongs to another merchant")
        elif known is not None:
            plan.settle("merchants", known, values)
        elif row.region is None:
            plan.refuse(row.where, "region is missing for a merchant that is not there yet")
        else:
            merchant = Merchant(code=row.code, **{"name": row.code} | {k: v for k, v in values.items() if v})
            plan.stored.merchants[row.code] = merchant
            plan.add("merchants", merchant)


def plan_customers(plan: Plan) -> None:
    """Add customers, and link those with an e-mail address to the user who signs in with it."""
    for row in plan.rows.customers.values():
        _settle_customer(plan, row)


def plan_orders(plan: Plan) -> None:
    """Add orders. What an order cost, whose it is and when it was placed never changes unasked."""
    earliest = _earliest_entries(plan)
    for key, row in plan.rows.orders.items():
        known = plan.stored.orders.get(key)
        if known is not None:
            _settle_order(plan, row, known)
            continue
        if row.customer is None and row.buyer is not None:
            _settle_customer(plan, row.buyer)
        customer = plan.stored.customers.get((row.merchant, _customer_reference(row)))
        placed_at = row.placed_at or earliest.get(key)
        if customer is None:
            plan.refuse(row.where, f"customer {_customer_reference(row) or '(none)'} is not known")
        elif placed_at is None:
            plan.refuse(row.where, "placed_at is missing, and no entry tells when the order was")
        elif row.total_minor_units is not None and row.currency is None:
            plan.refuse(row.where, "a total without a currency is no amount")
        else:
            order = Order(
                merchant=plan.stored.merchants[row.merchant],
                customer=customer,
                number=row.number,
                description=row.description or "",
                note=row.note or "",
                product_type=row.product_type or "GOODS",
                status=row.status or "PLACED",
                total_minor_units=row.total_minor_units,
                currency=row.currency or "",
                placed_at=placed_at,
            )
            plan.stored.orders[key] = order
            plan.add("orders", order)


def _settle_customer(plan: Plan, row: CustomerRow) -> None:
    key = (row.merchant, row.reference)
    if key in plan.settled_customers:
        return  # the buyer of several orders
    plan.settled_customers.add(key)
    known = plan.stored.customers.get(key)
    user = _user(plan, row) if row.email else None
    if user is not None and not _may_link(plan, row, known, user):
        return
    if known is not None:
        plan.settle("customers", known, {"user": user})
        return
    customer = Customer(merchant=plan.stored.merchants[row.merchant], reference=row.reference, user=user)
    plan.stored.customers[key] = customer
    plan.add("customers", customer)


def _user(plan: Plan, row: CustomerRow) -> User | None:
    email = row.email or ""
    users = plan.stored.users.setdefault(email, [])
    if len(users) > 1:
        plan.refuse(row.where, "email belongs to more than one user; link the customer by hand")
        return None
    if not users and email in plan.stored.user_names:
        plan.refuse(
            row.where, "email is the name of a user with another e-mail address; link the customer by hand"
        )
        return None
    if not users:
        users.append(User(username=email, email=email, password=make_password(None)))
        plan.add("users", users[0])
    return users[0]


def _may_link(plan: Plan, row: CustomerRow, known: Customer | None, user: User) -> bool:
    if known is not None and known.user_id is not None and known.user_id != user.pk:
        plan.refuse(
            row.where, f"customer {row.reference} is linked to another user; a file does not change that"
        )
        return False
    merchant = plan.stored.merchants[row.merchant]
    other = plan.linked.setdefault((row.merchant, user.email.lower()), row.reference)
    stored = plan.stored.customers_of_users.get((merchant.pk, user.pk)) if merchant.pk and user.pk else None
    if other != row.reference or (stored is not None and stored.reference != row.reference):
        plan.refuse(row.where, "email belongs to another customer of this merchant")
        return False
    return True


def _settle_order(plan: Plan, row: OrderRow, known: Order) -> None:
    if row.customer is not None and known.customer.reference != row.customer:
        plan.refuse(row.where, f"order {row.number} belongs to another customer")
        return
    amount = {"total_minor_units": row.total_minor_units, "currency": row.currency}
    stored = {"total_minor_units": known.total_minor_units, "currency": known.currency or None}
    differing = [
        f"{name} from {stored[name]} to {value}"
        for name, value in amount.items()
        if value is not None and stored[name] is not None and stored[name] != value
    ]
    if differing and not plan.update_totals:
        plan.refuse(
            row.where,
            f"would change the order's {' and '.join(differing)}; --update-totals takes what the file says",
        )
        return
    if row.total_minor_units is not None and not (row.currency or known.currency):
        plan.refuse(row.where, "a total without a currency is no amount")
        return
    plan.settle(
        "orders",
        known,
        amount
        | {
            "description": row.description,
            "note": row.note,
            "product_type": row.product_type,
            "status": row.status,
        },
    )


def _customer_reference(row: OrderRow) -> str:
    return row.customer or (row.buyer.reference if row.buyer else "")


def _earliest_entries(plan: Plan) -> dict[tuple[str, str], datetime]:
    orders = {key: (row.merchant, row.order) for key, row in plan.rows.payments.items()}
    found: dict[tuple[str, str], datetime] = {}
    for entry in plan.rows.entries.values():
        order = orders.get((entry.merchant, entry.account or "", entry.payment))
        if order is not None:
            found[order] = min(found.get(order, entry.occurred_at), entry.occurred_at)
    return found
