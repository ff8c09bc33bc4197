"""A site of django-oauth-toolkit, run by the Python that `prepare` makes.

    django_site.py fill SETTINGS     makes the database with the user and the clients
    django_site.py serve SETTINGS    serves HTTPS until it is killed

SETTINGS is JSON: database, signingKey; to serve also issuer, port, certificate, key, grace, life, refreshLife, log.
"""
import json
import socketserver
import ssl
import sys
import threading
import wsgiref.simple_server

import django
from django.conf import settings

import bed

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
LOGIN = """<!doctype html><title>Sign in</title><form method="post">{% csrf_token %}
<input type="hidden" name="next" value="{{ next }}">{{ form.as_p }}<button id="sign-in">Sign in</button></form>"""
# Identifier, type, grant.
CLIENTS = [("native", "public", "authorization-code"), ("server", "confidential", "authorization-code"),
           ("device", "public", DEVICE)]
given = json.loads(sys.argv[2])


def templates():
    return [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": False, "OPTIONS": {
        "loaders": [("django.template.loaders.locmem.Loader", {"login.html": LOGIN}),
                    "django.template.loaders.app_directories.Loader"],
        "context_processors": ["django.template.context_processors.request"]}}]


settings.configure(
    SECRET_KEY="for tests only", ALLOWED_HOSTS=["localhost", "127.0.0.1"], ROOT_URLCONF="django_urls", USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField", LOGIN_URL="/login/", LOGGING_CONFIG=None, STATIC_URL="/static/",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": given["database"],
                           # Else two transactions at once end in "database is locked", which is not the subject here.
                           "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"}}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
                    "django.contrib.staticfiles", "oauth2_provider"],
    MIDDLEWARE=["django_urls.log_requests", "django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware"],
    TEMPLATES=templates(),
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": open(given["signingKey"], encoding="ascii").read(),
        "OIDC_RP_INITIATED_LOGOUT_ENABLED": True, "SCOPES": {"openid": "who you are", "api": "data"},
        "PKCE_REQUIRED": True, "ROTATE_REFRESH_TOKEN": True, "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": given.get("grace", 0),
        "ACCESS_TOKEN_EXPIRE_SECONDS": given.get("life", 60),
        "REFRESH_TOKEN_EXPIRE_SECONDS": given.get("refreshLife", 3600), "DEVICE_FLOW_INTERVAL": 1,
        "OAUTH_DEVICE_VERIFICATION_URI": given.get("issuer", "https://localhost/o") + "/device/"})


def log_requests(respond):
    """Middleware: a line for each request in the log."""
    lock = threading.Lock()

    def logged(request):
        body = request.body
        answer = respond(request)
        bed.append(given["log"], lock, bed.entry(request.method, request.path, body, answer.status_code,
                                                 answer.content))
        return answer

    return logged


urls = type(sys)("django_urls")
urls.log_requests = log_requests
sys.modules["django_urls"] = urls
django.setup()

from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.views.generic import ProtectedResourceView  # noqa: E402


class Resource(ProtectedResourceView):
    """What an access token opens."""

    def get(self, request):
        return JsonResponse({"user": request.resource_owner.username})


urls.urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
                    path("login/", LoginView.as_view(template_name="login.html")), path("api/", Resource.as_view())]


def fill():
    from django.contrib.auth.models import User
    from oauth2_provider.models import Application
    call_command("migrate", verbosity=0)
    user = User.objects.create_user(bed.USER, password=bed.PASSWORD)
    for name, kind, grant in CLIENTS:
        Application.objects.create(
            client_id=name, name=name, client_type=kind, authorization_grant_type=grant, user=user, algorithm="RS256",
            client_secret=bed.SECRET if kind == "confidential" else "", skip_authorization=True,
            redirect_uris="http://127.0.0.1/callback http://[::1]/callback" if grant != DEVICE else "")


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def get_environ(self):
        return {**super().get_environ(), "wsgi.url_scheme": "https", "HTTPS": "on"}

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    """Ends its connections without TLS's closing message, and answers without a length: clients must bear that."""

    daemon_threads = True
    request_queue_size = 128

    def finish_request(self, request, client_address):
        # The handshake, here in the connection's own thread: a silent client would hold up the others.
        with self.context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, *_):
        pass


def serve():
    server = wsgiref.simple_server.make_server("127.0.0.1", given["port"], get_wsgi_application(), Server, Handler)
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(given["certificate"], given["key"])
    server.serve_forever()


if __name__ == "__main__":
    {"fill": fill, "serve": serve}[sys.argv[1]]()
