package report

import (
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readLockfile makes an inventory of one lockfile.
func readLockfile(in *input, o Options) ([]*model.Report, error) {
	data, err := in.all()
	if err != nil {
		return nil, err
	}
	// The decoded document is garbage before its packages are stored, so it does not count
	// beside them.
	in.build(-weightOfMarks(data))
	size := lockedSize
	if lockfile.IsRequirements(o.Name) {
		size = pinnedSize
	}
	limit := in.room.items(size, o.Limits.Items)
	rep, err := o.secrets.locks.Read(lockfile.File{Name: o.Name, Path: fileInRepository(o), Data: data, Limit: limit})
	switch {
	case err != nil && errors.Is(err, model.ErrTooLarge) && limit < o.Limits.Items:
		return nil, in.room.tooLarge()
	case err != nil:
		return nil, err
	}
	for _, i := range rep.Inventories {
		if in.build(len(i.Dependencies)*size + len(i.Edges)*edgeSize); in.room.err != nil {
			return nil, in.room.err
		}
	}
	rep.Category = read.Text(o.Category).Name()
	return []*model.Report{rep}, nil
}
