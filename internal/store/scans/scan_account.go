package scans

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// PutScanAccount stores the findings that a scan reported, and its gaps. The gate is stored by
// PutScanGate.
func (tx *Tx) PutScanAccount(ctx context.Context, a model.ScanAccount) error {
	gaps := a.Gaps[:min(len(a.Gaps), model.MaxScanGaps)]
	return tx.Insert(ctx, `scan_account (deployment_id, scan_id, reported, gaps_json, all_gaps, gate_json)`,
		[][]any{
			{a.ScanID, packRuns(a.Reported), sqldb.Encoded(append([]model.ScanGap{}, gaps...)), max(a.AllGaps, len(a.Gaps)), ""},
		},
		`ON CONFLICT (deployment_id, scan_id) DO UPDATE SET reported = excluded.reported, gaps_json = excluded.gaps_json, `+
			`all_gaps = excluded.all_gaps`)
}

// PutScanGate stores why a scan blocked its build; nil means that it did not. The row is written at
// the end of the transaction. It also queues a status update for the project's code host, if any.
func (tx *Tx) PutScanGate(ctx context.Context, scanID int64, gate *model.ScanGate) error {
	text := ""
	if gate != nil {
		text = sqldb.Encoded(gate)
	}
	tx.MarkWritten()
	gates := sqldb.Local[pendingGates](tx.Tx)
	gates.rows = append(gates.rows, []any{scanID, []byte{}, "[]", 0, text})
	tx.NotifyBlocked(scanID, gate)
	return tx.enqueueScanUpdate(ctx, scanID)
}

// pendingGates contains the rows of PutScanGate until the end of the transaction.
type pendingGates struct{ rows [][]any }

// WriteGates writes the rows of PutScanGate. It is a hook of the transaction.
func (tx *Tx) WriteGates(ctx context.Context) error {
	return tx.Insert(ctx, `scan_account (deployment_id, scan_id, reported, gaps_json, all_gaps, gate_json)`,
		sqldb.Local[pendingGates](tx.Tx).rows,
		`ON CONFLICT (deployment_id, scan_id) DO UPDATE SET gate_json = excluded.gate_json`)
}

// ScanAccount returns the account of a scan. It is model.ErrNotFound for a scan that has not ended,
// or without an account.
func (tx *Tx) ScanAccount(ctx context.Context, scanID int64) (model.ScanAccount, error) {
	a := model.ScanAccount{ScanID: scanID}
	var runs []byte
	var gate string
	_, err := sqldb.One(ctx, tx, func(r sqldb.Row) (struct{}, error) {
		return struct{}{}, r.Scan(&runs, sqldb.Decoded(&a.Gaps), &a.AllGaps, &gate)
	}, `SELECT reported, gaps_json, all_gaps, gate_json FROM scan_account WHERE deployment_id = $1 AND scan_id = $2`,
		scanID)
	if err == nil {
		a.Reported, err = UnpackRuns(runs)
	}
	if err == nil && gate != "" {
		err = sqldb.DecodeStored([]byte(gate), &a.Gate)
	}
	if err != nil {
		return a, fmt.Errorf("the account of scan %d: %w", scanID, err)
	}
	return a, nil
}

// BlockedScans returns those of the scans that blocked their builds.
func (tx *Tx) BlockedScans(ctx context.Context, scanIDs []int64) (map[int64]bool, error) {
	in, arg := tx.In("scan_id", 2, scanIDs)
	out := map[int64]bool{}
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		err := r.Scan(&id)
		out[id] = true
		return err
	}, `SELECT scan_id FROM scan_account WHERE deployment_id = $1 AND gate_json <> '' AND `+in, arg)
}

// ParsedInPart returns those of the scans that could not parse all files of a language.
func (tx *Tx) ParsedInPart(ctx context.Context, scanIDs []int64) (map[int64]bool, error) {
	in, arg := tx.In("scan_id", 2, scanIDs)
	out := map[int64]bool{}
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var gaps []model.ScanGap
		err := r.Scan(&id, sqldb.Decoded(&gaps))
		if slices.ContainsFunc(gaps, func(g model.ScanGap) bool { return g.Kind == model.GapParse }) {
			out[id] = true
		}
		return err
	}, `SELECT scan_id, gaps_json FROM scan_account WHERE deployment_id = $1 AND `+in, arg)
}

// PackedAccount is the stored form of the findings that a scan reported and of its gate.
type PackedAccount struct {
	scanID   int64
	reported []byte
	gate     string
}

// PackedAccounts returns the accounts of a project's scans.
func (tx *Tx) PackedAccounts(ctx context.Context, projectID int64) ([]PackedAccount, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (a PackedAccount, err error) {
		return a, r.Scan(&a.scanID, &a.reported, &a.gate)
	},
		`SELECT a.scan_id, a.reported, a.gate_json FROM scan_account a
		JOIN scan s ON s.deployment_id = a.deployment_id AND s.id = a.scan_id WHERE a.deployment_id = $1 AND s.project_id = $2
		ORDER BY a.scan_id`,
		projectID)
}

// RewriteAccount replaces finding ids in an account.
func (tx *Tx) RewriteAccount(ctx context.Context, a PackedAccount, is func(id int64) int64) error {
	ids, err := UnpackRuns(a.reported)
	if err != nil {
		return fmt.Errorf("the reported findings of scan %d: %w", a.scanID, err)
	}
	for i, id := range ids {
		ids[i] = is(id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	gate := a.gate
	if gate != "" {
		var decoded model.ScanGate
		if err := sqldb.DecodeStored([]byte(gate), &decoded); err != nil {
			return fmt.Errorf("the gate of scan %d: %w", a.scanID, err)
		}
		for i := range decoded.Blocking {
			decoded.Blocking[i].FindingID = is(decoded.Blocking[i].FindingID)
		}
		gate = sqldb.Encoded(decoded)
	}
	if packed := packRuns(ids); gate != a.gate || !bytes.Equal(packed, a.reported) {
		_, err = tx.Exec(ctx, `UPDATE scan_account SET reported = $3, gate_json = $4 WHERE deployment_id = $1 `+
			`AND scan_id = $2`, a.scanID, packed, gate)
	}
	return err
}

// packRuns encodes ascending numbers as runs of consecutive ones. A run is the distance from the
// end of the previous one, and its length.
func packRuns(ids []int64) []byte {
	out := []byte{}
	end := int64(0)
	for i := 0; i < len(ids); {
		n := 1
		for i+n < len(ids) && ids[i+n] == ids[i]+int64(n) {
			n++
		}
		out = binary.AppendUvarint(out, uint64(ids[i]-end))
		out = binary.AppendUvarint(out, uint64(n))
		end = ids[i] + int64(n)
		i += n
	}
	return out
}

// errDamagedRuns means that runs are not output of packRuns.
var errDamagedRuns = sqldb.Undecoded(errors.New("runs of findings"))

// UnpackRuns decodes the ascending ids that PutScanAccount stores as runs.
func UnpackRuns(text []byte) (ids []int64, err error) {
	end := uint64(0)
	for len(text) > 0 {
		distance, n := binary.Uvarint(text)
		if n <= 0 {
			return nil, errDamagedRuns
		}
		length, m := binary.Uvarint(text[n:])
		if m <= 0 || length > 1<<32 {
			return nil, errDamagedRuns
		}
		text = text[n+m:]
		for i := range length {
			ids = append(ids, int64(end+distance+i))
		}
		end += distance + length
	}
	return ids, nil
}
