"""Who else could put something into a folder: code is loaded only from where nobody could."""

from __future__ import annotations

import contextlib
import os
import stat

_NOBODY_ELSE = "only you may be able to write there (chmod go-w, or another AUTOFUSE_CACHE_DIR)"


def why_untrusted(path: str) -> str:
    """Why somebody else could change what lies at `path`; empty when only root and the user can.

    As sshd looks at key files: the path and all its parents, links resolved, belong to the user
    or to root, and neither group nor others may write. Two things are allowed beside that: a
    folder with the sticky bit, such as /tmp, where nobody can move what belongs to others, and
    the group that holds nobody but the user.
    """
    place = os.path.realpath(path)
    while True:
        try:
            info = os.stat(place)
        except OSError as error:
            return str(error)
        if info.st_uid not in (0, os.geteuid()):
            return "{} belongs to user {}: {}".format(place, info.st_uid, _NOBODY_ELSE)
        if _others_may_write(info):
            return "others may write to {}: {}".format(place, _NOBODY_ELSE)
        parent = os.path.dirname(place)
        if parent == place:
            return ""
        place = parent


def _others_may_write(info: os.stat_result) -> bool:
    if stat.S_ISDIR(info.st_mode) and info.st_mode & stat.S_ISVTX:
        return False
    if info.st_mode & stat.S_IWOTH:
        return True
    return bool(info.st_mode & stat.S_IWGRP) and not _private_group(info.st_gid)


def _private_group(gid: int) -> bool:
    """Whether a group is the user's primary one, carries the user's name and has no other members:
    on many systems every user has such a group, and new folders are writable for it."""
    if gid == 0 and os.geteuid() == 0:
        return True
    with contextlib.suppress(ImportError, KeyError):  # no such group or user
        import grp
        import pwd

        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
        members = set(group.gr_mem) - {user.pw_name}
        return user.pw_gid == gid and group.gr_name == user.pw_name and not members
    return False
