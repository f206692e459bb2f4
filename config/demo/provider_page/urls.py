"""The demo's own addresses."""

from django.urls import path

from config.demo.provider_page import views

app_name = "demo"
urlpatterns = [
    path("provider/", views.books, name="provider"),
    path("provider/<str:action>/", views.act, name="provider-act"),
]
