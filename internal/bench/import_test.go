package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// imported is the number of findings in an upload, and replaced the number of those that differ in
// a scan of a later commit.
const (
	imported = 10_000
	replaced = 500
)

// intake imports uploads of one size in two ways: over HTTP, and in process from a parsed report.
type intake struct {
	w       *world
	results []string
	file    []byte
	commits int // commits so far
}

func newIntake(w *world) *intake {
	in := &intake{w: w}
	in.setResults(w.made.results(imported))
	return in
}

func (in *intake) setResults(results []string) {
	in.results, in.file = results, semgrep(results)
}

// newer replaces some of the results.
func (in *intake) newer() {
	in.setResults(append(in.results[replaced:], in.w.made.results(replaced)...))
}

// commit returns the name of a new commit.
func (in *intake) commit() string {
	in.commits++
	return fmt.Sprintf("%040x", in.commits)
}

// send measures an upload over HTTP.
func (in *intake) send(project, commit string) time.Duration {
	return in.w.client.took(in.w.upload(project, "main", "semgrep.json", in.file, "commit", commit))()
}

// apply measures applying a parsed report.
func (in *intake) apply(project, commit string) time.Duration {
	w := in.w
	w.tb.Helper()
	reading := &report.Reading{}
	err := reading.Add(bytes.NewReader(in.file), report.Options{Name: "semgrep.json", Key: []byte("a key for secrets")})
	w.check(err)
	upload := ingest.Upload{
		Project: model.Project{Name: project, URL: "https://git.example/" + project}, Ref: "main", Commit: commit, Full: true,
	}
	return timed(func() {
		cleaned := reading.Clean(nil)
		w.check(w.store.Update(w.tb.Context(), w.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			reports, err := conceal.Resolve(ctx, tx, cleaned)
			if err == nil {
				_, err = ingest.ApplyAll(ctx, tx, exceptions.ForImport{Store: tx}, upload, reports)
			}
			return err
		}))
	})()
}

// valid measures json.Valid for the upload, the least cost of parsing it with encoding/json.
func (in *intake) valid() limit {
	return limit{unit: perValid, run: timed(func() {
		if !json.Valid(in.file) {
			in.w.tb.Fatal("the upload is not JSON")
		}
	})}
}

// benchImport measures uploads of 10,000 findings: into a new project, repeated, of an unchanged
// commit, and of a commit that replaces some. The baseline of the first is inserting its findings
// and bodies. The others are reported as multiples of its rate.
func benchImport(b *testing.B, w *world) {
	in := newIntake(w)
	w.importUpload(w.upload("first/0", "main", "semgrep.json", in.file, "commit", in.commit()))
	r := w.raw()
	rows := in.written(r)
	methods := []struct {
		name   string
		submit func(project, commit string) time.Duration
		read   []limit
	}{{"import", in.send, []limit{in.valid()}}, {"apply", in.apply, nil}}
	for _, method := range methods {
		measure := func(name string, subject func() time.Duration, baseline limit) {
			b.Run(method.name+"/"+name, func(b *testing.B) {
				limits := append([]limit{baseline}, method.read...)
				b.ReportMetric(rate(imported, compare(b, subject, limits...)), perSecond)
			})
		}
		insert := limit{unit: perLimit, run: func() time.Duration {
			in.commits++
			return r.insert(int64(1000+in.commits), rows)
		}}
		fresh := func() string { return fmt.Sprintf("%s/%s", method.name, in.commit()) }
		first := limit{unit: ofFirst, run: func() time.Duration { return method.submit(fresh(), "1") }, inverse: true}
		project := fresh()
		measure("first", first.run, insert)
		measure("repeat", func() time.Duration { return method.submit(project, "1") }, first)
		measure("unchanged", func() time.Duration {
			in.file = append(in.file, ' ') // changes the hash of the upload
			return method.submit(project, in.commit())
		}, first)
		measure("500 replaced", func() time.Duration {
			in.newer()
			return method.submit(project, in.commit())
		}, first)
	}
}

// written reads the rows of findings that a first import writes.
func (in *intake) written(r *raw) []table {
	var of []table
	for _, t := range []struct{ name, key string }{{"finding", "id"}, {"finding_body", "finding_id"}} {
		of = append(of, table{t.name, r.rows(fmt.Sprintf(`SELECT * FROM %s WHERE deployment_id = ? ORDER BY %s DESC LIMIT ?`, t.name, t.key), in.w.deployment.ID, imported)})
	}
	return of
}
