"""The thirteen stages of a refund, one file each, in the order of their numbers.

====  =========================  ====================================================================
 01   authorize_request          who asks, for which tenant, about which of their own orders
 02   open_workflow              a durable identity before anything consequential
 03   retrieve_policy            one policy version, by deterministic attributes and a date
 04   retrieve_payments          the normalised, access-controlled view of the order's money
 05   establish_duplicate        a finding that only ledger rows can prove
 06   propose_action             a model recommends; nothing it says is a fact
 07   validate_proposal          seven checks, each leaving a row
 08   obtain_approval            a rule or people approve one exact command
 09   create_operation           the durable financial instruction, its key and fingerprint
 10   submit_refund              refresh, then three beats around one call
 11   reconcile_outcome          a lost answer is looked up, never repeated
 12   commit_evidence            every change of state with its evidence, in one transaction
 13   notify_customer            the message that is owed, without touching the refund
====  =========================  ====================================================================

A stage decides and records; ``refunds.pipeline`` alone knows what comes next. No stage imports another, except
that every stage ends in the twelfth.
"""
