"""Answers questions on the topic `work` of an MQTT broker, k at a time, each in s: `python mqtt_worker.py PORT K SLEEP_MS`."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion


def main(port: int, workers: int, sleep_s: float) -> None:
    pool = ThreadPoolExecutor(workers)
    client: Any = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)

    def answer(message: Any) -> None:
        time.sleep(sleep_s)
        client.publish(message.properties.ResponseTopic, b"answer", qos=1)

    client.on_connect = lambda *_: client.subscribe("work", qos=1)
    client.on_subscribe = lambda *_: print("ready", flush=True)
    client.on_message = lambda _client, _data, message: pool.submit(answer, message)
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", port)
    client.loop_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000)
