"""All that is replaced in foreign libraries, and why. `put_in_place` takes the rows of a phase.

The phases before Locust is imported are in `hook.py`, since the owners of these rows exist only after that.
"""

from __future__ import annotations

import http.client
import socket
import time

import gevent
import gevent.hub
import geventhttpclient.client
import locust
import locust.clients
import locust.user.wait_time
import requests
import requests.models
import urllib3.connection
import urllib3.connectionpool
import urllib3.poolmanager
import urllib3.util.retry
from gevent import _socketcommon
from gevent import socket as gevent_socket
from geventhttpclient.client import HTTPClient
from geventhttpclient.connectionpool import ConnectionPool
from geventhttpclient.response import HTTPResponse, HTTPSocketPoolResponse
from geventhttpclient.useragent import CompatResponse, UserAgent
from locust.contrib import fasthttp
from locust.event import EventHook
from locust.rpc import zmqrpc
from locust.user.task import DefaultTaskSet, TaskSet
from locust.user.users import PytestUser, User
from requests.adapters import HTTPAdapter

from .. import user_activity
from ..lean.session import LeanSession
from . import client_connections, client_results, guarding, task_hooks, tracing
from .hook import AS_LOCUST_IS_IMPORTED, BEFORE_LOCUST, Hook

_Connection, _SecureConnection = urllib3.connection.HTTPConnection, urllib3.connection.HTTPSConnection
_FastReply, _Reply = fasthttp.ResponseContextManager, locust.clients.ResponseContextManager
_POLLS = "select() refuses descriptors above 1,023, and gevent's poll() lets others run, so that a stopped user leaves it open"

AFTER_LOCUST = (
    # Connections: fresh or used before, time to connect, which side closed them.
    Hook(ConnectionPool, "_create_socket", client_connections.marking_create, "marks fresh sockets, and times their connect"),
    Hook(ConnectionPool, "_connect_socket", client_connections.naming_timeouts, "its timeout would look like that of a read"),
    Hook(ConnectionPool, "_is_socket_alive", client_connections.polled_socket, _POLLS),
    Hook(ConnectionPool, "release_socket", client_connections.counting_release, "counts closes by side"),
    Hook(ConnectionPool, "close", client_connections.counting_pool_close, "counts closes by users"),
    Hook(HTTPSocketPoolResponse, "release", client_connections.noting_reply, "a socket that had its reply is not fresh"),
    Hook(HTTPSocketPoolResponse, "__del__", client_connections.counting_abandoned, "counts streams not read to their end"),
    Hook(_Connection, "_new_conn", client_connections.marking_new, "marks fresh connections"),
    Hook(_Connection, "getresponse", client_connections.marking_reply, "a connection that had its reply is not fresh"),
    Hook(_Connection, "connect", client_connections.timed_connect, "times the connect"),
    Hook(_SecureConnection, "connect", client_connections.timed_connect, "times the connect"),
    Hook(_Connection, "is_connected", client_connections.polled_connection, _POLLS),
    Hook(_Connection, "close", client_connections.counting_close, "counts closes by side"),
    Hook(_Connection, "request", client_connections.noting_request, "a request may ask to close its connection"),
    Hook(urllib3.poolmanager.PoolManager, "clear", client_connections.closing_clear, "a closed session closes connections now"),
    # Attempts that clients repeat by themselves.
    Hook(geventhttpclient.client, "_may_retry_after_send_error", client_results.noting_resends, "decides on a resend"),
    Hook(UserAgent, "_handle_error", client_results.noting_retries, "decides on a retry"),
    Hook(urllib3.util.retry.Retry, "increment", client_results.noting_increments, "decides on a retry"),
    # Results: every request that starts has one.
    Hook(http.client, "_read_headers", client_results.whole_headers, "a reply cut off in its headers would be a success"),
    Hook(ConnectionPool, "get_socket", client_results.noting_start, "a request starts here"),
    Hook(urllib3.connectionpool.HTTPConnectionPool, "urlopen", client_results.noting_start, "a request starts here"),
    Hook(fasthttp.FastHttpSession, "request", client_results.observed_call, "a request that user code ends is abandoned"),
    Hook(locust.clients.HttpSession, "request", client_results.observed_call, "a request that user code ends is abandoned"),
    Hook(fasthttp.FastHttpSession, "_send_request_safe_mode", client_results.fast_failures, "few exceptions are failures"),
    Hook(locust.clients.HttpSession, "_send_request_safe_mode", client_results.requests_failures, "few exceptions are failures"),
    Hook(EventHook, "measure", client_results.measured_to_its_end, "a request that the end of its user cuts off would succeed"),
    *(
        row
        for reply in (_FastReply, _Reply)
        for row in (
            Hook(reply, "is_decided", client_results.undecided, "a with-block has one result", is_added=True),
            Hook(reply, "_report_request", client_results.reporting_once, "counts what is reported"),
            Hook(reply, "__exit__", client_results.deciding_exit, "an exception of user code ends a with-block without a result"),
            Hook(reply, "__del__", client_results.counting_dropped, "a with-block that user code never enters", is_added=True),
        )
    ),
    # Bodies: how much of a reply is kept in memory.
    Hook(requests.models.Response, "content", client_results.bounded_content, "joins all parts of a body"),
    Hook(HTTPResponse, "feed", client_results.bounded_feed, "keeps all parts of a head, and each part of a body that arrives"),
    Hook(CompatResponse, "_content", client_results.bounded_unpacking, "decompresses a body"),
    Hook(UserAgent, "_conversation_str", client_results.read_without_text, "decodes the body of each error as UTF-8, and raises"),
    # What user code does with a client and with time.
    Hook(_Reply, "iter_content", user_activity.reading_parts, "user code that reads a reply has waited for nothing else"),
    Hook(fasthttp.FastResponse, "iter_content", user_activity.reading_parts, "user code that reads has waited for nothing else"),
    Hook(fasthttp.FastResponse, "__iter__", user_activity.reading_parts, "user code that reads has waited for nothing else"),
    Hook(fasthttp.FastResponse, "read", user_activity.reading, "user code that reads has waited for nothing else"),
    Hook(fasthttp.FastResponse, "readline", user_activity.reading, "user code that reads has waited for nothing else"),
    Hook(locust, "constant_pacing", task_hooks.pacing_known, "says how long its pace is"),
    Hook(locust.user.wait_time, "constant_pacing", task_hooks.pacing_known, "says how long its pace is"),
)
"""Once a process, after Locust is imported."""

GUARD = (
    Hook(socket, "getaddrinfo", guarding.guarded_lookup, "looks names up"),
    Hook(gevent_socket, "getaddrinfo", guarding.guarded_lookup, "looks names up"),
    Hook(_socketcommon, "getaddrinfo", guarding.guarded_lookup, "looks names up for gevent itself"),
    Hook(gevent_socket.socket, "connect", guarding.guarded_connect, "sends to another host"),
    Hook(gevent_socket.socket, "connect_ex", guarding.guarded_connect_ex, "sends to another host"),
    Hook(gevent_socket.socket, "sendto", guarding.guarded_sendto, "sends to another host"),
    Hook(gevent_socket.socket, "sendmsg", guarding.guarded_sendmsg, "sends to another host"),
    Hook(http.client.HTTPConnection, "putrequest", guarding.guarded_putrequest, "a proxy would forward an absolute URL"),
    Hook(http.client.HTTPConnection, "set_tunnel", guarding.guarded_tunnel, "a proxy would connect to this host"),
    Hook(HTTPAdapter, "send", guarding.guarded_send, "chooses a proxy"),
    Hook(HTTPClient, "__init__", guarding.guarded_client, "is given a proxy"),
)
"""Once a process, with its HostGuard: load goes to loopback only, unless a host is allowed."""

USERS = (
    Hook(TaskSet, "_sleep", task_hooks.observed_wait, "every wait of every user passes it"),
    Hook(TaskSet, "execute_task", task_hooks.observed_task, "every task passes it"),
    Hook(DefaultTaskSet, "execute_task", task_hooks.observed_task, "every task of a user without task sets passes it"),
    Hook(User, "run", task_hooks.observed_run, "is a user's life"),
    Hook(PytestUser, "run", task_hooks.observed_run, "is a user's life"),
    Hook(time, "sleep", task_hooks.observed_sleep, "user code sleeps; gevent has replaced it already"),
    Hook(gevent, "sleep", task_hooks.observed_sleep, "user code sleeps"),
    Hook(gevent.hub, "sleep", task_hooks.observed_sleep, "user code sleeps"),
)
"""With the `Observers` of a load thread, before a locustfile is imported. Those of a second load thread replace the first."""

WORKERS = (Hook(zmqrpc.BaseSocket, "__init__", guarding.with_keys, "a stranger must not join a run"),)
"""With the secret of a run that has workers, before the port is opened or a run is joined."""

TRACES = (
    Hook(UserAgent, "urlopen", tracing.traced_opening, "sends the requests of FastHttpUser"),
    Hook(requests.Session, "prepare_request", tracing.traced_preparing, "makes the requests of HttpUser"),
    Hook(LeanSession, "send", tracing.traced_sending, "sends the requests of the lean client, which has no cost without traces"),
)
"""Once a process, if each request is to have a trace."""

TABLE = (*BEFORE_LOCUST, *AS_LOCUST_IS_IMPORTED, *AFTER_LOCUST, *GUARD, *USERS, *WORKERS, *TRACES)
