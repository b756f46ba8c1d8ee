package policy

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt"
)

// ErrNoRoom means that a branch has more findings than there is room to read.
var ErrNoRoom = errors.New("there are more findings than may be read")

// Remembered is what the gate reads, to judge many scans of one moment: what holds for all
// projects is read once, and so is each branch of the project at hand. Of findings it reads
// no more than it has room for.
type Remembered struct {
	GateStorage
	// Unresolved counts the unresolved findings of a branch, up to most.
	Unresolved func(ctx context.Context, projectID int64, ref, source string, most int) (int, error)
	// Room is how many findings may yet be read. A branch that has more is not, by ErrNoRoom.
	Room int

	policies []redoubt.Policy
	served   []redoubt.ServedRule
	blocking []redoubt.PolicyRule
	whole    bool // the three were read
	project  int64
	open     map[stream][]redoubt.Finding
	live     map[stream][]redoubt.Finding
}

// stream is where findings of a project come from.
type stream struct{ ref, source string }

// read reads what holds for all projects.
func (r *Remembered) read(ctx context.Context) (err error) {
	if r.whole {
		return nil
	}
	if r.policies, err = r.GateStorage.Policies(ctx); err != nil {
		return err
	}
	if r.served, err = r.GateStorage.ServedRules(ctx); err != nil {
		return err
	}
	if r.blocking, err = r.GateStorage.BlockingRules(ctx); err != nil {
		return err
	}
	r.whole = true
	return nil
}

// Policies are those of the deployment. The caller does not change them.
func (r *Remembered) Policies(ctx context.Context) ([]redoubt.Policy, error) {
	err := r.read(ctx)
	return r.policies, err
}

// ServedRules are those that scanners are given.
func (r *Remembered) ServedRules(ctx context.Context) ([]redoubt.ServedRule, error) {
	err := r.read(ctx)
	return r.served, err
}

// BlockingRules are those in mode block.
func (r *Remembered) BlockingRules(ctx context.Context) ([]redoubt.PolicyRule, error) {
	err := r.read(ctx)
	return r.blocking, err
}

// OpenFindings are those of a branch.
func (r *Remembered) OpenFindings(ctx context.Context, projectID int64, ref, source string) ([]redoubt.Finding, error) {
	r.turnTo(projectID)
	return r.once(ctx, r.open, stream{ref, source}, r.GateStorage.OpenFindings)
}

// UnresolvedFindings are the same with what tells whether one is known.
func (r *Remembered) UnresolvedFindings(ctx context.Context, projectID int64, ref, source string) ([]redoubt.Finding, error) {
	r.turnTo(projectID)
	return r.once(ctx, r.live, stream{ref, source}, r.GateStorage.UnresolvedFindings)
}

// turnTo forgets the branches of another project.
func (r *Remembered) turnTo(project int64) {
	if r.open == nil || r.project != project {
		r.project, r.open, r.live = project, map[stream][]redoubt.Finding{}, map[stream][]redoubt.Finding{}
	}
}

func (r *Remembered) once(ctx context.Context, known map[stream][]redoubt.Finding, of stream, read func(context.Context, int64, string, string) ([]redoubt.Finding, error)) ([]redoubt.Finding, error) {
	if list, ok := known[of]; ok {
		return list, nil
	}
	n, err := r.Unresolved(ctx, r.project, of.ref, of.source, r.Room+1)
	if err != nil {
		return nil, err
	}
	if n > r.Room {
		return nil, ErrNoRoom
	}
	list, err := read(ctx, r.project, of.ref, of.source)
	if err == nil {
		known[of] = list
		r.Room -= len(list)
	}
	return list, err
}
