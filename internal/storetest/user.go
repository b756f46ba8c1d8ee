package storetest

import (
	"errors"
	"os/user"
	"strconv"
)

// serviceUser finds a user without privileges: postgres, where Debian made it,
// else nobody.
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
	return 0, 0, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody to run it as")
}
