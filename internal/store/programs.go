package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
)

// programsSetting names the versions of Redoubt that have opened the database, in the
// order in which they first did: a JSON list of text.
const programsSetting = "programs"

// maxPrograms bounds that list; those that came first go.
const maxPrograms = 100

// noteProgram puts this program at the end of the list of those that have opened the
// database, if it is not on it.
func (e *engine) noteProgram(ctx context.Context) error {
	if e.program == "" {
		return nil
	}
	if list, err := e.programs(ctx); err != nil || slices.Contains(list, e.program) {
		return err
	}
	return e.update(ctx, func(ctx context.Context, q *session) error {
		list, err := q.programs(ctx, e.forUpdate) // another may have come meanwhile
		if err != nil || slices.Contains(list, e.program) {
			return err
		}
		list = append(list, e.program)
		text, err := json.Marshal(list[max(0, len(list)-maxPrograms):])
		if err != nil {
			return err
		}
		return q.putSetting(ctx, programsSetting, text)
	})
}

func (e *engine) programs(ctx context.Context) (list []string, err error) {
	err = e.viewUnjudged(ctx, e.read, func(ctx context.Context, q *session) error {
		list, err = q.programs(ctx, "")
		return err
	})
	return list, err
}

// programs reads the list. One that cannot be read is none: it decides nothing that is
// lost with it.
func (q *session) programs(ctx context.Context, lock string) (list []string, err error) {
	text, err := one(ctx, q, scalar[[]byte], `SELECT value FROM setting WHERE name = $1`+lock, programsSetting)
	if errors.Is(err, redoubt.ErrNotFound) {
		return nil, nil
	}
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil, err
	}
	return list, nil
}

// unknownShape is what to answer instead of the damage that something stored cannot be
// read, where a program that came to the database later than this one may have written
// it; nil where none came. It may be gone again, and what it wrote still there.
func (e *engine) unknownShape(ctx context.Context, damage error) error {
	if e.program == "" || !errors.Is(damage, errUndecoded) {
		return nil
	}
	list, _ := e.programs(ctx) // where it cannot be read, the damage is said
	at := slices.Index(list, e.program)
	if at < 0 || at == len(list)-1 {
		return nil
	}
	return fmt.Errorf("%w: redoubt %s opened the database after this one (%s) had, and may have written what this one cannot read; "+
		"if redoubt check of that version says so too, it is damage: %s", redoubt.ErrReplaced, list[len(list)-1], e.program, damage.Error())
}
