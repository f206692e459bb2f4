"""The tables of the provider's book. Money is whole numbers in the provider's units; times are seconds since 1970."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS charges (
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    payment_intent TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    captured INTEGER NOT NULL,
    disputed INTEGER NOT NULL,
    payment_method_fingerprint TEXT,
    metadata TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (account, id),
    UNIQUE (account, payment_intent)
);
CREATE TABLE IF NOT EXISTS refunds (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    charge TEXT NOT NULL,
    payment_intent TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    reason TEXT,
    status TEXT NOT NULL,
    failure_reason TEXT,
    metadata TEXT NOT NULL,
    balance_transaction TEXT NOT NULL,
    created INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS refunds_by_charge ON refunds (account, charge);
CREATE TABLE IF NOT EXISTS refund_history (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    refund TEXT NOT NULL,
    account TEXT NOT NULL,
    charge TEXT NOT NULL,
    at REAL NOT NULL,
    shown TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS refund_history_by_charge ON refund_history (account, charge);
CREATE TABLE IF NOT EXISTS kept_answers (
    account TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    parameters TEXT NOT NULL,
    status INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (account, idempotency_key)
);
CREATE TABLE IF NOT EXISTS settlements (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    refund TEXT NOT NULL,
    status TEXT NOT NULL,
    failure_reason TEXT,
    due_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS late_effects (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    form TEXT NOT NULL,
    due_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS disputes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    charge TEXT NOT NULL,
    payment_intent TEXT NOT NULL,
    amount INTEGER NOT NULL,
    currency TEXT NOT NULL,
    reason TEXT NOT NULL,
    status TEXT NOT NULL,
    created INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS balances (
    account TEXT NOT NULL,
    currency TEXT NOT NULL,
    available INTEGER NOT NULL,
    PRIMARY KEY (account, currency)
);
CREATE TABLE IF NOT EXISTS balance_transactions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL,
    type TEXT NOT NULL,
    reporting_category TEXT NOT NULL,
    source TEXT NOT NULL,
    amount INTEGER NOT NULL,
    currency TEXT NOT NULL,
    created INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    account TEXT NOT NULL,
    type TEXT NOT NULL,
    at REAL NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    event TEXT NOT NULL,
    type TEXT NOT NULL,
    about TEXT NOT NULL,
    url TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at REAL NOT NULL,
    options TEXT NOT NULL,
    attempts TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS deliveries_by_due ON deliveries (due_at) WHERE state = 'waiting';
CREATE TABLE IF NOT EXISTS request_log (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    entry TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS world (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
"""

# Columns that books of an earlier version lack.
ADDED = (
    ("charges", "payment_method", "TEXT"),
    ("charges", "payment_method_type", "TEXT"),
    ("charges", "captured_amount", "INTEGER"),  # null: all of it, once it is captured
    ("charges", "canceled_at", "INTEGER"),
    ("charges", "settles_at", "REAL"),  # null: settled
    ("refunds", "failure_balance_transaction", "TEXT"),
    ("refunds", "pending_reason", "TEXT"),
    ("refunds", "expires_at", "INTEGER"),
    ("refunds", "from_balance", "INTEGER"),  # how much of a limited balance it took
    ("settlements", "from_status", "TEXT"),
    ("kept_answers", "kept_at", "REAL"),
    ("kept_answers", "asked", "TEXT"),
    ("deliveries", "first_due_at", "REAL"),
)
TABLES = (
    "charges",
    "refunds",
    "refund_history",
    "kept_answers",
    "settlements",
    "late_effects",
    "disputes",
    "balances",
    "balance_transactions",
    "events",
    "deliveries",
    "request_log",
    "world",
)
JSON_COLUMNS = ("metadata", "entry", "about", "options", "attempts", "shown", "form", "asked")
