import pytest
from tests.factories import *
from refunds.states import *
pytestmark=[pytest.mark.django_db, pytest.mark.urls("tests.support.customer_urls")]
def test_pages(client):
    wf = workflow_in_state(WorkflowState.COMPLETED)
    client.force_login(wf.customer.user)
    for u in ["/support/","/support/requests/",f"/support/requests/{wf.reference}/","/accounts/logout/","/api/v1/refund-requests",f"/api/v1/refund-requests/{wf.pk}","/api/schema/","/api/docs/","/api/docs/?script","/api/v1/x"]:
        r=client.get(u); print(u, r.status_code, dict(r.headers)); print(r.content.decode()[:6000])
    client.logout()
    for u in ["/support/","/accounts/login/?next=/support/","/accounts/password/reset/","/accounts/signup/","/nope"]:
        r=client.get(u); print(u, r.status_code, dict(r.headers)); print(r.content.decode()[:3000])
