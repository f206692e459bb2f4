"""Who may see a case, and why a person may not decide it; stage 8 checks a decision again under its locks."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from approvals.states import ApprovalState, CaseKind
from refunds.selectors.review import get_reviewer
from refunds.selectors.review_records import CaseEvidence, Reviewer

Extra = ParamSpec("Extra")
StaffView = Callable[Concatenate[HttpRequest, Reviewer, Extra], HttpResponseBase]


def staff_only(view: StaffView[Extra]) -> Callable[..., HttpResponseBase]:
    """Let in signed-in staff who work for a merchant; a superuser without a membership works for none."""

    @wraps(view)
    @never_cache
    def guarded(request: HttpRequest, *args: Extra.args, **kwargs: Extra.kwargs) -> HttpResponseBase:
        user = request.user
        if not user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        reviewer = get_reviewer(user_id=user.pk)
        if not user.is_staff:
            raise PermissionDenied
        if not reviewer.merchant_ids:
            context = {**admin.site.each_context(request), "title": "Review queue"}
            return render(request, "console/no_merchant.html", context, status=403)
        return view(request, reviewer, *args, **kwargs)

    return guarded


def may_approve(reviewer: Reviewer, case: CaseEvidence) -> bool:
    """Return whether the reviewer may decide cases of this merchant at all."""
    return case.merchant_id in reviewer.approves_for


def why_no_decision(reviewer: Reviewer, case: CaseEvidence) -> str:
    """Return the code that keeps this reviewer from deciding this case now, or an empty text.

    CASE_CLOSED, RECOVERY_NEEDED (an investigation or finance case), NOT_PENDING, NOT_ALLOWED, OWN_REQUEST,
    ALREADY_VOTED.
    """
    approval = case.approval
    if case.closed_at is not None:
        return "CASE_CLOSED"
    if case.kind != CaseKind.APPROVAL:
        return "RECOVERY_NEEDED"
    if approval is None or approval.state != ApprovalState.PENDING:
        return "NOT_PENDING"
    if not may_approve(reviewer, case):
        return "NOT_ALLOWED"
    if approval.by_reviewer or case.about_reviewer:
        return "OWN_REQUEST"
    return "ALREADY_VOTED" if approval.voted_by_reviewer else ""
