from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_initial")]

    operations = [
        migrations.RunSQL(
            sql="CREATE SEQUENCE review_case_ticket START WITH 8901",
            reverse_sql="DROP SEQUENCE review_case_ticket",
        ),
    ]
