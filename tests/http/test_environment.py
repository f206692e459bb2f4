"""What the environment may say, read as a deployment reads it."""

import pytest
from pydantic import ValidationError

from config.environment import Environment

SOUND = {
    "DATABASE_URL": "postgresql://desk@db/desk",
    "REDIS_URL": "redis://cache:6379/0",
    "SECRET_KEY": "x" * 50,
    "DEMO_MODE": False,
    "DEMO_BREAK": "",
}


def read(**variables):
    return Environment.model_validate(SOUND | variables)


@pytest.mark.parametrize(
    "url", ["http://models.example.com/v1", "http://127.0.0.1:9000/v1", "ftp://x", "HTTP://x"]
)
def test_the_model_is_asked_over_https_outside_the_demo(url):
    with pytest.raises(ValidationError, match="OPENAI_BASE_URL must be https outside DEMO_MODE"):
        read(OPENAI_BASE_URL=url)
    read(OPENAI_BASE_URL=url, DEMO_MODE=True)
    assert read(OPENAI_BASE_URL="https://models.example.com/v1").OPENAI_BASE_URL


def test_defaults_trust_no_proxy_and_end_tokens_after_ninety_days():
    env = read()
    assert (env.TRUSTED_PROXY_COUNT, env.API_TOKEN_DAYS, env.NEW_REQUESTS_PER_MINUTE) == (0, 90, 30)


@pytest.mark.parametrize(
    "wrong",
    [
        {"TRUSTED_PROXY_COUNT": "-1"},
        {"API_TOKEN_DAYS": "0"},
        {"API_TOKEN_DAYS": "3650"},
        {"NEW_REQUESTS_PER_MINUTE": "0"},
        {"MODEL_QUALIFICATION_DAYS": "0"},
        {"MODEL_QUALIFICATION_DAYS": "366"},
        {"ASSISTANT_PARAMETERS": {"temperature": 9}},
        {"ASSISTANT_PARAMETERS": {"temperature": "hot"}},
        {"ASSISTANT_PARAMETERS": {"tools": True}},
    ],
)
def test_values_out_of_range_stop_the_start(wrong):
    with pytest.raises(ValidationError):
        read(**wrong)


def test_what_models_are_asked_with_is_read_as_json(monkeypatch):
    for name, value in SOUND.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("ASSISTANT_PARAMETERS", '{"temperature": 0, "output_limit_field": "max_tokens"}')
    env = Environment.model_validate({})
    assert env.ASSISTANT_PARAMETERS == {"temperature": 0, "output_limit_field": "max_tokens"}
    assert env.MODEL_QUALIFICATION_DAYS == 90
