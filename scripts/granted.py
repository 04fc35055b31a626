#!/usr/bin/env python3
"""Write a configuration for runc with exactly what a DaemonSet's manifest grants, from the one that
`umoci unpack` made.

    granted.py --written DIR [--without CAPABILITY] [--seccomp SPEC.json] MANIFEST CONFIG.json -- ARGUMENT...

The configuration is overwritten. ARGUMENTs go to the image's entry point, after those of the manifest
if the first is `+`. Writable volumes are directories below DIR, and so are settings of the manifest
itself; the others are mounted from this machine. The runtime's seccomp profile comes from SPEC.json,
a configuration that the runtime would start.
"""
import argparse
import json
import os
import yaml

# Paths that runtimes for Kubernetes hide from an unprivileged container.
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
          "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def source(volume, mount, texts, written):
    """The source of a mount, and its rights."""
    if "configMap" in volume:
        place = os.path.join(written, volume["name"])
        os.makedirs(place, mode=0o755, exist_ok=True)
        for name, text in texts[volume["configMap"]["name"]].items():
            with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, volume["configMap"].get("defaultMode", 0o644))
        return os.path.join(place, mount.get("subPath", "")), "ro"
    if mount.get("readOnly"):
        return volume["hostPath"]["path"], "ro"
    place = os.path.join(written, volume["name"])
    os.makedirs(place, mode=0o755, exist_ok=True)
    return place, "rw"


def mounts(pod, container, texts, written):
    """The mounts of a container besides its image."""
    yield {"destination": "/proc", "type": "proc", "source": "proc",
           "options": ["nosuid", "noexec", "nodev"]}
    yield {"destination": "/sys", "type": "sysfs", "source": "sysfs",
           "options": ["nosuid", "noexec", "nodev", "ro"]}
    yield {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
           "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for mount in container["volumeMounts"]:
        found, rights = source(volumes[mount["name"]], mount, texts, written)
        spread = "rslave" if mount.get("mountPropagation") == "HostToContainer" else "rprivate"
        if os.path.exists(found):
            yield {"destination": mount["mountPath"], "type": "bind", "source": found,
                   "options": ["rbind", spread, rights]}


def typed():
    """The parsed arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("manifest")
    parser.add_argument("config")
    parser.add_argument("--without", default="")
    parser.add_argument("--seccomp")
    parser.add_argument("--written", required=True)
    parser.add_argument("args", nargs="*")
    return parser.parse_args()


def variables(container):
    """Variables that Kubernetes sets: a node has the name of the machine."""
    known = {"spec.nodeName": os.uname().nodename}
    for one in container.get("env", []):
        yield f"{one['name']}={known[one['valueFrom']['fieldRef']['fieldPath']]}"


def filtered(spec, granted):
    """The runtime's own filter of system calls, if the manifest uses it."""
    kind = granted["seccompProfile"]["type"]
    if kind != "RuntimeDefault":
        raise SystemExit(f"the manifest takes the seccomp profile {kind}: say in granted.py what that is")
    if not spec:
        return {}
    with open(spec, encoding="utf-8") as file:
        return {"seccomp": json.load(file)["linux"]["seccomp"]}


def main():
    """Reads, changes and writes the configuration."""
    asked = typed()
    with open(asked.manifest, encoding="utf-8") as file:
        objects = list(yaml.safe_load_all(file))
    daemon_set = next(one for one in objects if one["kind"] == "DaemonSet")
    texts = {one["metadata"]["name"]: one["data"] for one in objects if one["kind"] == "ConfigMap"}
    with open(asked.config, encoding="utf-8") as file:
        config = json.load(file)
    pod = daemon_set["spec"]["template"]["spec"]
    container = pod["containers"][0]
    granted = container["securityContext"]
    if granted.get("privileged") or granted["capabilities"]["drop"] != ["ALL"]:
        raise SystemExit("the manifest grants what it does not name")
    caps = ["CAP_" + name for name in granted["capabilities"]["add"] if name != asked.without]
    process = config["process"]
    process["terminal"] = False
    process["env"] = [*process.get("env", []), *variables(container)]
    if asked.args[:1] == ["+"]:
        asked.args[:1] = container["args"]
    process["args"] = process["args"][:1] + asked.args
    process["user"] = {"uid": granted["runAsUser"], "gid": 0}
    # containerd gives root these sets, without ambient capabilities.
    process["capabilities"] = {kind: caps for kind in ("bounding", "effective", "permitted")}
    process["noNewPrivileges"] = not granted["allowPrivilegeEscalation"]
    config["root"]["readonly"] = granted["readOnlyRootFilesystem"]
    config["mounts"] = list(mounts(pod, container, texts, asked.written))
    kinds = ["mount", "ipc", "uts", "network"] + ([] if pod.get("hostPID") else ["pid"])
    config["linux"] = {"namespaces": [{"type": kind} for kind in kinds],
                       "maskedPaths": MASKED, "readonlyPaths": READ_ONLY,
                       **filtered(asked.seccomp, granted)}
    config["hooks"] = {}
    with open(asked.config, "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)


main()
