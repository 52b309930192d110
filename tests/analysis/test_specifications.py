"""Each module of analysis has a specification: a test file of its name, or the one that is named here."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ANALYSIS = TESTS.parent / "capexplorer" / "analysis"

ELSEWHERE = {
    "analysis/bottleneck/test_bottlenecks.py": (
        "bottleneck/found", "bottleneck/level_judgement", "bottleneck/queue_rules", "bottleneck/resource_rules",
    ),
    "analysis/bottleneck/test_watched_parts.py": ("bottleneck/part_rules",),
    "analysis/causes/test_cause_detector.py": (
        "causes/conditions", "causes/confirmation", "causes/failure_classes", "causes/resolve",
    ),
    "analysis/causes/test_episodes.py": ("causes/episode", "causes/occurrence"),
    "analysis/epoch/test_epoch.py": ("epoch/measured_epoch",),
    "analysis/epoch/test_moving_rates.py": ("bottleneck/load_kinds",),
    "analysis/epoch/test_rate_verdict.py": ("epoch/measured_rates", "epoch/rate_recovery"),
    "analysis/epoch/test_regimes.py": ("epoch/onset", "epoch/part_figures", "epoch/regime"),
    "analysis/epoch/test_service_program.py": ("target_process",),
    "analysis/host_checks/test_host_checks.py": (
        "host_checks/check", "host_checks/hardware", "host_checks/open_files", "host_checks/sockets",
    ),
    "analysis/knee/test_detector.py": ("knee/verdict_kinds",),
    "analysis/ladder/test_measured.py": ("ladder",),
    "analysis/leaks/test_leaks.py": ("leaks/leak_kinds", "leaks/trend"),
    "analysis/test_reanalysis.py": ("detectors",),
    "pages/test_causes_page.py": ("causes/catalogue",),
    "report/test_agreement.py": ("epoch_view",),
}  # fmt: skip
"""By test file: modules that it specifies in addition to the module of its name."""


def modules() -> set[str]:
    return {str(path.relative_to(ANALYSIS).with_suffix("")) for path in ANALYSIS.rglob("*.py") if path.stem != "__init__"}


def has_own_test_file(module: str) -> bool:
    return (TESTS / "analysis" / module).with_name(f"test_{Path(module).name}.py").exists()


def test_each_module_has_a_specification() -> None:
    listed = {module for several in ELSEWHERE.values() for module in several}
    assert {module for module in modules() - listed if not has_own_test_file(module)} == set()


def test_the_list_names_existing_files_and_modules_and_no_module_with_a_test_file_of_its_own() -> None:
    listed = {module for several in ELSEWHERE.values() for module in several}
    assert [file for file in ELSEWHERE if not (TESTS / file).exists()] == []
    assert listed - modules() == set()
    assert {module for module in listed if has_own_test_file(module)} == set()
