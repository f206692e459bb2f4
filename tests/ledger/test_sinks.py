import json

from ledger.sinks import FileSink, sink_for


def test_a_line_that_a_crash_cut_short_does_not_swallow_the_next(tmp_path):
    path = tmp_path / "audit.jsonl"
    path.write_text('{"event_id": "aud_1"}\n{"event_id": "aud_2", "to')

    FileSink(path).write([{"event_id": "aud_2"}, {"event_id": "aud_3"}])

    readable = []
    for line in path.read_text().splitlines():
        try:
            readable.append(json.loads(line)["event_id"])
        except ValueError:
            assert line == '{"event_id": "aud_2", "to'
    assert readable == ["aud_1", "aud_2", "aud_3"]


def test_the_sink_is_the_one_that_the_address_names(tmp_path):
    sink = sink_for(f"file://{tmp_path}/with%20space.jsonl")
    assert isinstance(sink, FileSink)
    sink.write([{"event_id": "aud_1"}])
    assert (tmp_path / "with space.jsonl").read_text() == '{"event_id": "aud_1"}\n'
