from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('refunds', '0006_scanner_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='gatewayattempt',
            name='livemode',
            field=models.BooleanField(help_text='Whether the credentials were for real money.', null=True),
        ),
        migrations.AddField(
            model_name='gatewayresponse',
            name='retry_forbidden',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name='gatewaywebhook',
            index=models.Index(condition=models.Q(('operation_id', ''), _negated=True), fields=['operation_id'], name='webhook_of_operation'),
        ),
        migrations.AddIndex(
            model_name='gatewaywebhook',
            index=models.Index(condition=models.Q(('object_id', ''), _negated=True), fields=['object_id'], name='webhook_of_object'),
        ),
    ]
