package findings

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
)

// maxDecision is the maximum number of findings in one decision. Their occurrences on other
// branches are not counted.
const maxDecision = 50_000

// snapshot contains the exact findings that a user selected: their ids and the version of the
// deployment. Findings that changed after that version differ from what the user saw.
type snapshot struct {
	Version   int64
	IssueType model.IssueType
	IDs       []int64 // ascending
}

func snapshotOf(version int64, t model.IssueType, ids []int64) snapshot {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return snapshot{version, t, slices.Compact(ids)}
}

// Params returns the hidden fields of the snapshot. Ids are encoded as varint differences of one or
// two bytes each, so that tens of thousands fit.
func (s snapshot) Params() []component.Param {
	var packed []byte
	last := int64(0)
	for _, id := range s.IDs {
		packed = binary.AppendUvarint(packed, uint64(id-last))
		last = id
	}
	return []component.Param{
		{Name: "version", Value: strconv.FormatInt(s.Version, 10)},
		{Name: "type", Value: s.IssueType.String()},
		{Name: "ids", Value: base64.RawURLEncoding.EncodeToString(packed)},
	}
}

// snapshotFrom parses the fields of Params, or individually selected rows. Invalid input is a
// *model.InvalidError.
func snapshotFrom(form url.Values) (snapshot, error) {
	var s snapshot
	var ok bool
	if s.IssueType, ok = model.ParseIssueType(form.Get("type")); !ok {
		return s, model.Invalid("type", "must be sast, sca or secrets")
	}
	var err error
	if s.Version, err = strconv.ParseInt(form.Get("version"), 10, 64); err != nil || s.Version < 0 {
		return s, model.Invalid("version", "is missing or invalid: go back to the list and select again")
	}
	if len(form["id"]) > 0 {
		picked, err := component.PickedFindings(s.IssueType, form["id"])
		return snapshotOf(s.Version, s.IssueType, picked.IDs), err
	}
	packed, err := base64.RawURLEncoding.DecodeString(form.Get("ids"))
	damaged := model.Invalid("ids", "are missing or invalid: go back to the list and select again")
	if err != nil || len(packed) == 0 {
		return s, damaged
	}
	for last := int64(0); len(packed) > 0; {
		step, n := binary.Uvarint(packed)
		if n <= 0 || step == 0 || step > 1<<32 || len(s.IDs) >= maxDecision {
			return s, damaged
		}
		packed, last = packed[n:], last+int64(step)
		s.IDs = append(s.IDs, last)
	}
	return s, nil
}
