"""The addresses as they are under DEMO_MODE."""

from django.urls import include, path

from config.urls import *  # noqa: F403 - the error handlers too
from config.urls import urlpatterns as without_demo

urlpatterns = [path("demo/", include("config.demo.provider_page.urls")), *without_demo]
