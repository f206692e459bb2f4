"""The product behind the HTTP interface of another bench, so that both are driven by one harness.

``python -m config.demo.bench.peer_adapter setup`` migrates and seeds; ``serve`` starts the product and translates.
It decides nothing and the product knows nothing of it. Environment: DATABASE_URL, PORT, GATEWAY_URL, LLM_URL (with
``/v1``), NOTIFY_URL, ORDERS, BENCH_SLOTS, and BENCH_DIR, where its files go.

* ``POST /request {"order_id": "o7", ...}`` -> the API's POST -> 202 ``{"id": workflow_id}``
* ``GET /request/ID`` -> the API's GET -> ``{"status": state, "completed_at": epoch seconds}``
* the product's calls to provider and model -> those of that bench, with the currency and metadata they leave out
* the product's mail -> ``POST $NOTIFY_URL {"id": workflow_id, "event_id": ...}``
"""
