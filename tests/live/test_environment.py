"""The same stacks under other settings of the runtime."""
from harness import LiveCase

SCENARIOS = ("reverse_pinvoke", "funclets", "generics", "r2r_generics", "uco_fnptr")
SETTINGS = {
    "diagnostics_off": {"DOTNET_EnableDiagnostics": "0"},
    "write_xor_execute_off": {"DOTNET_EnableWriteXorExecute": "0"},
    "write_xor_execute_on": {"DOTNET_EnableWriteXorExecute": "1"},
    "tiered_compilation_off": {"DOTNET_TieredCompilation": "0"},
    "ready_to_run_off": {"DOTNET_ReadyToRun": "0"},
    "server_gc": {"DOTNET_gcServer": "1"},
}


def _make(scenario, environment):
    def test(self):
        self.check(scenario, environment=environment)
    return test


class Environment(LiveCase):
    """One test per scenario and setting, made below."""


for _setting, _environment in SETTINGS.items():
    for _scenario in SCENARIOS:
        setattr(Environment, f"test_{_setting}_{_scenario}", _make(_scenario, _environment))
