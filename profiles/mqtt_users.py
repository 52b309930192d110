"""Users of an MQTT 5 broker, who publish a question and wait for its answer: of what answers behind the broker, to the response
topic that the question names.

`TOPIC=work capexplorer run mqtt --host 127.0.0.1:1883`; MQTT_USER and MQTT_PASSWORD if the broker wants them. Each user reads its
connection itself, in place of paho's thread, which would outlive it and connect again unseen.
"""

import os
import time
from collections.abc import Callable

import paho.mqtt.client as mqtt
from locust import User, between, task
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

WAIT_S = float(os.environ.get("WAIT_S", "0.4"))
TOPIC = os.environ.get("TOPIC", "work")
TIMEOUT_S = 5.0


class AskingUser(User):
    wait_time = between(0.5 * WAIT_S, 1.5 * WAIT_S)

    def on_start(self) -> None:
        self.said: list[object] = []  # by the broker: the reason code of a connection, or an answer
        self.answers = Properties(PacketTypes.PUBLISH)
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self.client.username_pw_set(os.environ.get("MQTT_USER"), os.environ.get("MQTT_PASSWORD"))
        self.client.on_connect = lambda _client, _data, _flags, reason, _properties: self.said.append(reason)
        self.client.on_subscribe = lambda _client, _data, _id, reasons, _properties: self.said.append(reasons[0])
        self.client.on_message = lambda _client, _data, message: self.said.append(message)

    @task
    def question(self) -> None:
        if self.client.is_connected() or self.measured("connect", self.connect):
            self.measured("ask", self.ask)

    def connect(self) -> object:
        host, _, port = (self.host or "").rpartition("//")[2].partition(":")
        self.client.connect(host, int(port or 1883))
        refused = self.next_said()
        if getattr(refused, "is_failure", True):
            return refused
        self.answers.ResponseTopic = f"answers/{id(self)}"
        self.client.subscribe(self.answers.ResponseTopic, qos=1)
        return self.next_said()

    def ask(self) -> object:
        self.client.publish(TOPIC, b"question", qos=1, properties=self.answers)
        return self.next_said()

    def next_said(self) -> object:
        """What the broker says next, or why it says nothing."""
        self.said.clear()
        until_s = time.monotonic() + TIMEOUT_S
        while not self.said:
            failed = self.client.loop(0.5)  # calls the functions above first
            if failed and not self.said:
                return failed
            if time.monotonic() > until_s:
                return TimeoutError("no answer")
        return self.said[0]

    def measured(self, name: str, act: Callable[[], object]) -> bool:
        """One request. Its failure is a reason code, an error of paho or an exception."""
        with self.environment.events.request.measure("MQTT", name) as request:
            found = act()
            is_failure = getattr(found, "is_failure", isinstance(found, Exception | mqtt.MQTTErrorCode))
            request["exception"] = found if is_failure else None
        return request["exception"] is None

    def on_stop(self) -> None:
        self.client.disconnect()
