"""Which file systems may not answer, and tell nothing of changes made elsewhere."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Mount", "Mounts"]

_MOUNTS = "/proc/self/mountinfo"
#: File systems another machine or the host writes to without this kernel's knowledge.
_REMOTE = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "drvfs", "vboxsf", "vmhgfs", "prl_fs"),
        *("afs", "ceph", "glusterfs", "lustre", "fakeowner", "osxfs", "grpcfuse", "virtiofs"),
    )
)
_LOCAL_FUSE = frozenset(("fuse.ext4", "fuse.btrfs", "fuse.fuse-overlayfs", "fuse.ntfs-3g"))


class Mount(NamedTuple):
    point: str
    kind: str

    @property
    def remote(self) -> bool:
        if self.kind.startswith("fuse."):
            return self.kind not in _LOCAL_FUSE
        return self.kind in _REMOTE


class Mounts:
    """The mounts as one reading of the kernel's table; empty where there is none."""

    def __init__(self, table: str = _MOUNTS) -> None:
        self._mounts: list[Mount] = []
        try:
            with open(table, encoding="utf-8", errors="surrogateescape") as lines:
                for line in lines:
                    before, _, after = line.partition(" - ")
                    fields, types = before.split(), after.split()
                    if len(fields) >= 5 and types:
                        point = fields[4].replace("\\040", " ")
                        self._mounts.append(Mount(point.rstrip("/"), types[0]))
        except OSError:
            return
        self.any_remote = any(mount.remote for mount in self._mounts)

    any_remote = False

    def of(self, path: str) -> Mount | None:
        """The mount an absolute path lies on, by its text alone: nothing is looked at."""
        best: Mount | None = None
        for mount in self._mounts:
            inside = path == mount.point or path.startswith(mount.point + "/")
            if inside and (best is None or len(mount.point) >= len(best.point)):
                best = mount
        return best
