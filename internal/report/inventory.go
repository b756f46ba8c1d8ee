package report

import (
	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readLockfile makes an inventory of one lockfile.
func readLockfile(in *input, o Options) ([]*redoubt.Report, error) {
	data, err := in.all()
	if err != nil {
		return nil, err
	}
	rep, err := o.secrets.locks.Read(lockfile.File{Name: o.Name, Path: fileInRepository(o), Data: data, Limit: o.Limits.Items})
	if err != nil {
		return nil, err
	}
	rep.Category = read.Text(o.Category).Name()
	return []*redoubt.Report{rep}, nil
}
