package inventory

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// errDamagedContent means that a content is not output of EncodeContent.
var errDamagedContent = sqldb.Undecoded(errors.New("the content of a lockfile"))

// ContentRow is the part of a dependency that the content of a lockfile contains.
type ContentRow struct {
	ID           int64
	Version      int64 // package_version.id
	Transitivity model.Transitivity
	Licenses     string // JSON
}

// putContent stores the content of a lockfile.
func (tx *Tx) putContent(ctx context.Context, inventoryID int64, rows []ContentRow) error {
	if len(rows) == 0 {
		return tx.Write(ctx, `DELETE FROM inventory_content WHERE deployment_id = $1 AND inventory_id = $2`, inventoryID)
	}
	content, err := EncodeContent(rows)
	if err != nil {
		return err
	}
	const columns = `inventory_id, first_id, last_id, content`
	return tx.Insert(ctx, `inventory_content (deployment_id, `+columns+`)`,
		[][]any{{inventoryID, rows[0].ID, rows[len(rows)-1].ID, content}},
		`ON CONFLICT (deployment_id, inventory_id) DO UPDATE SET `+sqldb.Excluded(columns, "inventory_id"))
}

// EncodeContent sorts rows by id and encodes them as varints. First follow the number of license
// lists, and for each list its number of terms and the terms with eight bytes each. Each row then
// has the differences of its id and version to the previous row, its transitivity, and the index of
// its list.
func EncodeContent(rows []ContentRow) ([]byte, error) {
	slices.SortFunc(rows, func(a, b ContentRow) int { return cmp.Compare(a.ID, b.ID) })
	index := map[string]uint64{}
	var lists []byte
	for _, r := range rows {
		if _, seen := index[r.Licenses]; seen {
			continue
		}
		var expressions []string
		if err := sqldb.DecodeStored([]byte(r.Licenses), &expressions); err != nil {
			return nil, fmt.Errorf("the licenses of dependency %d: %w", r.ID, err)
		}
		terms := licenceTerms(expressions)
		index[r.Licenses] = uint64(len(index))
		lists = binary.AppendUvarint(lists, uint64(len(terms)))
		for _, term := range terms {
			lists = binary.LittleEndian.AppendUint64(lists, term)
		}
	}
	out := append(binary.AppendUvarint(make([]byte, 0, len(lists)+6*len(rows)+4), uint64(len(index))), lists...)
	var before ContentRow
	for _, r := range rows {
		out = binary.AppendUvarint(out, uint64(r.ID-before.ID))
		out = binary.AppendVarint(out, r.Version-before.Version)
		out = binary.AppendUvarint(out, uint64(r.Transitivity))
		out = binary.AppendUvarint(out, index[r.Licenses])
		before = r
	}
	return out, nil
}

// contentReader decodes the output of EncodeContent.
type contentReader struct {
	rest    []byte
	damaged bool
}

func (c *contentReader) number() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.rest, c.damaged = nil, true
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *contentReader) distance() int64 {
	n, size := binary.Varint(c.rest)
	if size <= 0 {
		c.rest, c.damaged = nil, true
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

// lists decodes the license lists and returns which of them pass, and whether any does.
func (c *contentReader) lists(passes func(terms []byte) bool) (passing []bool, some bool) {
	n := c.number()
	if n > uint64(len(c.rest)) {
		c.damaged = true
		return nil, false
	}
	passing = make([]bool, n)
	for i := range passing {
		terms := c.number()
		if terms > uint64(len(c.rest))/licenceTermSize {
			c.damaged = true
			return nil, false
		}
		size := terms * licenceTermSize
		passing[i] = passes(c.rest[:size])
		some = some || passing[i]
		c.rest = c.rest[size:]
	}
	return passing, some
}

// EachContent calls take with the dependencies whose licenses pass, by id, until take returns
// false. passes gets the encoded licenceTerms of a list.
func EachContent(
	content []byte, passes func(terms []byte) bool, take func(id, version int64, t model.Transitivity) (more bool),
) error {
	c := contentReader{rest: content}
	passing, some := c.lists(passes)
	var id, version int64
	for some && len(c.rest) > 0 {
		id += int64(c.number())
		version += c.distance()
		t := c.number()
		list := c.number()
		if c.damaged || list >= uint64(len(passing)) {
			return errDamagedContent
		}
		if passing[list] && !take(id, version, model.Transitivity(t)) {
			return nil
		}
	}
	if c.damaged {
		return errDamagedContent
	}
	return nil
}
