"""The watched parts that result from the containers of a Compose file and the parts of the profile."""

from __future__ import annotations

from capexplorer.model.watched import PartSpec
from capexplorer.run.service import composed_parts
from capexplorer.target.containers import ReportedContainer

WEB = ReportedContainer("web", "p-web-1", is_here=True)
STORE = ReportedContainer("store", "p-store-1", is_here=True)


def test_a_local_container_is_read_from_this_machine() -> None:
    (part,) = composed_parts([WEB], [])
    assert part == PartSpec(name="web", container="p-web-1")
    assert part.is_here


def test_a_container_of_a_remote_daemon_is_read_inside_the_container() -> None:
    (part,) = composed_parts([ReportedContainer("web", "p-web-1", is_here=False)], [])
    assert part == PartSpec(name="web", at="docker exec -i p-web-1")
    assert part.selected == ("pid", "1")


def test_several_containers_of_a_service_are_numbered_parts() -> None:
    parts = composed_parts([WEB, ReportedContainer("web", "p-web-2", is_here=True), STORE], [])
    assert [part.name for part in parts] == ["web1", "web2", "store"]


def test_a_part_of_the_profile_with_the_name_of_a_service_is_merged_with_its_container() -> None:
    of_profile = [PartSpec(name="store", postgres="postgresql://x@127.0.0.1/shop"), PartSpec(name="host")]
    parts = list(composed_parts([WEB, STORE], of_profile))
    assert parts == [
        PartSpec(name="web", container="p-web-1"),
        PartSpec(name="store", container="p-store-1", postgres="postgresql://x@127.0.0.1/shop"),
        PartSpec(name="host"),
    ]


def test_a_part_of_the_profile_keeps_its_own_transport() -> None:
    of_profile = [PartSpec(name="store", at="ssh db1", port=5432)]
    assert list(composed_parts([STORE], of_profile)) == of_profile


def test_names_of_services_are_shortened_and_cleaned_to_valid_names_of_parts() -> None:
    names = ["_shop.web", "a" * 40]
    parts = composed_parts([ReportedContainer(name, "x", is_here=True) for name in names], [])
    assert [part.name for part in parts] == ["shop-web", "a" * 32]
