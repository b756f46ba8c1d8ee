package bom

import (
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// ReadLockfile returns the inventory of one lockfile.
func ReadLockfile(in *format.Input, o format.Options) ([]*model.Report, error) {
	data, err := in.All()
	if err != nil {
		return nil, err
	}
	// The decoded document is freed before its packages are stored, so both are not counted
	// together.
	in.Build(-format.WeightOfMarks(data))
	size := format.LockedSize
	if lockfile.IsRequirements(o.Name) {
		size = format.PinnedSize
	}
	limit := in.Budget.Items(size, o.Limits.Items)
	rep, err := o.Secrets.Locks.Read(lockfile.File{
		Name:  o.Name,
		Path:  format.FileInRepository(o),
		Data:  data,
		Limit: limit,
	})
	switch {
	case err != nil && errors.Is(err, model.ErrTooLarge) && limit < o.Limits.Items:
		return nil, in.Budget.TooLarge()
	case err != nil:
		return nil, err
	}
	for _, i := range rep.Inventories {
		if in.Build(len(i.Dependencies)*size + len(i.Edges)*format.EdgeSize); in.Budget.Err != nil {
			return nil, in.Budget.Err
		}
	}
	rep.Category = read.Text(o.Category).Name()
	return []*model.Report{rep}, nil
}
