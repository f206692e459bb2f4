"""Everything that goes wrong in a browser without anybody saying so."""

# Chromium repeats a bad status on the console without saying for what kind of request it was.
_TOLD_BY_THE_RESPONSE = "Failed to load resource"


class Watch:
    """Console errors (every violation of the content policy is one), uncaught errors, requests without a good answer.

    The status of a page itself is the test's business and is not judged here.
    """

    def __init__(self, context):
        self.problems = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self.problems.append(f"uncaught: {error.error}"))
        context.on("response", self._response)
        context.on("requestfailed", self._request_failed)

    def _console(self, message):
        if message.type in {"error", "warning"} and not message.text.startswith(_TOLD_BY_THE_RESPONSE):
            self.problems.append(f"console {message.type}: {message.text} ({message.location})")

    def _response(self, response):
        if response.status >= 400 and not response.request.is_navigation_request():
            self.problems.append(f"{response.status}: {response.url}")

    def _request_failed(self, request):
        # A page that is left drops the question that it was asking in the background.
        dropped = request.failure == "net::ERR_ABORTED" and request.resource_type in {"xhr", "fetch"}
        if not dropped:
            self.problems.append(f"{request.failure}: {request.url}")
