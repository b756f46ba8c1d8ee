package storetest

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// attributes returns the attributes for starting PostgreSQL. It dies with this process and does not
// run as root, which PostgreSQL rejects. The directory is changed to its user.
func attributes(dir string) (*syscall.SysProcAttr, error) {
	how := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return how, nil
	}
	uid, gid, err := serviceUser()
	if err != nil {
		return nil, err
	}
	how.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	return how, os.Chown(dir, int(uid), int(gid))
}

// serviceUser returns an unprivileged user: postgres if it exists.
func serviceUser() (uid, gid uint32, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		u, errU := strconv.ParseUint(account.Uid, 10, 32)
		g, errG := strconv.ParseUint(account.Gid, 10, 32)
		if errU == nil && errG == nil {
			return uint32(u), uint32(g), nil
		}
	}
	return 0, 0, errors.New(
		"PostgreSQL refuses to run as root, and there is no unprivileged user to run it as",
	)
}
