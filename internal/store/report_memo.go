package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt"
)

// PutReportMemo keeps how the report of the last full scan of (project, ref, source)
// was read.
func (tx *Tx) PutReportMemo(ctx context.Context, projectID int64, ref, source string, m redoubt.ReportMemo) error {
	return tx.insert(ctx, `report_memo (deployment_id, project_id, ref, source, memo)`, [][]any{{projectID, ref, source, encodeReportMemo(m)}},
		`ON CONFLICT (deployment_id, project_id, ref, source) DO UPDATE SET memo = excluded.memo`)
}

// ReportMemo reads what is kept of the last full report of a source on a ref, by the
// name of the project; nil for nothing. What is damaged is nothing: it saves work, and
// tells nothing else.
func (tx *Tx) ReportMemo(ctx context.Context, project, ref, source string) (*redoubt.ReportMemo, error) {
	list, err := many(ctx, tx, scalar[[]byte], `SELECT m.memo FROM report_memo m
		JOIN project p ON p.deployment_id = m.deployment_id AND p.id = m.project_id
		WHERE m.deployment_id = $1 AND p.name = $2 AND m.ref = $3 AND m.source = $4`, project, ref, source)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	m, err := decodeReportMemo(list[0])
	if err != nil {
		return nil, nil //nolint:nilerr // as said above
	}
	return m, nil
}

// forgetReportMemos drops what is kept of the reports of a project, on a ref or, where
// that is empty, on all; of no project, of all.
func (tx *Tx) forgetReportMemos(ctx context.Context, projectID int64, ref string) error {
	switch {
	case projectID == 0:
		return tx.write(ctx, `DELETE FROM report_memo WHERE deployment_id = $1`)
	case ref == "":
		return tx.write(ctx, `DELETE FROM report_memo WHERE deployment_id = $1 AND project_id = $2`, projectID)
	}
	return tx.write(ctx, `DELETE FROM report_memo WHERE deployment_id = $1 AND project_id = $2 AND ref = $3`, projectID, ref)
}

// memoFormat is the first byte of an encoded memo.
const memoFormat = 1

// encodeReportMemo writes a memo: its context, then its results, of each the digests,
// the group in eight bytes, and the other numbers in as many as they take.
func encodeReportMemo(m redoubt.ReportMemo) []byte {
	const each = 3*len(redoubt.Digest{}) + 8 + 14 // bytes of a result, mostly
	out := append(make([]byte, 0, 1+len(m.Context)+each*len(m.Results)), memoFormat)
	out = append(out, m.Context[:]...)
	for i := range m.Results {
		r := &m.Results[i]
		out = append(append(append(out, r.Raw.Digest[:]...), r.Content[:]...), r.Identity.Hash[:]...)
		out = binary.LittleEndian.AppendUint64(out, r.Raw.Group)
		muted := 0
		if r.Muted {
			muted = 1
		}
		for _, n := range []int{r.Raw.Index, r.Raw.Size, r.Raw.Rule, int(r.Identity.Kind), muted, r.Location.Line, r.Location.Column, r.Location.EndLine, r.Location.EndColumn} {
			out = binary.AppendVarint(out, int64(n))
		}
	}
	return out
}

var errDamagedMemo = errors.New("the memo of a report is damaged")

// decodeReportMemo reads what encodeReportMemo wrote.
func decodeReportMemo(text []byte) (*redoubt.ReportMemo, error) {
	m := &redoubt.ReportMemo{}
	if len(text) < 1+len(m.Context) || text[0] != memoFormat {
		return nil, errDamagedMemo
	}
	text = text[1+copy(m.Context[:], text[1:]):]
	const digests = 3*len(redoubt.Digest{}) + 8
	m.Results = make([]redoubt.ReadResult, 0, len(text)/digests)
	for len(text) > 0 {
		if len(text) < digests {
			return nil, errDamagedMemo
		}
		var r redoubt.ReadResult
		for _, d := range []*redoubt.Digest{&r.Raw.Digest, &r.Content, &r.Identity.Hash} {
			text = text[copy(d[:], text):]
		}
		r.Raw.Group, text = binary.LittleEndian.Uint64(text), text[8:]
		var numbers [9]int
		for i := range numbers {
			v, n := binary.Varint(text)
			if n <= 0 {
				return nil, errDamagedMemo
			}
			numbers[i], text = int(v), text[n:]
		}
		r.Raw.Index, r.Raw.Size, r.Raw.Rule = numbers[0], numbers[1], numbers[2]
		r.Identity.Kind, r.Muted = redoubt.IdentityKind(numbers[3]), numbers[4] == 1
		r.Location = redoubt.Location{Line: numbers[5], Column: numbers[6], EndLine: numbers[7], EndColumn: numbers[8]}
		if r.Raw.Size <= 0 {
			return nil, fmt.Errorf("%w: a result has %d bytes", errDamagedMemo, r.Raw.Size)
		}
		m.Results = append(m.Results, r)
	}
	return m, nil
}
