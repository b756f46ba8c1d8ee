package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// truffleHogLine is one line of what TruffleHog writes: a finding, or, where
// its log went into the same file, a message.
type truffleHogLine struct {
	Source struct {
		Data map[string]json.RawMessage `json:"Data"` // by the kind of source, one
	} `json:"SourceMetadata"`
	Detector    read.Text            `json:"DetectorName"`
	Description read.Text            `json:"DetectorDescription"`
	Verified    read.Boolean         `json:"Verified"`
	Failed      read.Text            `json:"VerificationError"`
	Raw         read.Text            `json:"Raw"`
	RawV2       read.Text            `json:"RawV2"`
	Parts       map[string]read.Text `json:"SecretParts"`
	Level       read.Text            `json:"level"`
	Log         read.Text            `json:"msg"`
}

// readTruffleHog reads lines of JSON. The end of the file is the end of the
// report: nothing else tells it, and a scan that found nothing is empty.
func readTruffleHog(in *input, o Options) ([]*model.Report, error) {
	n := newNative(in, o, "trufflehog")
	err := n.lines("findings", func(item string) error { return items(n, n.truffleHog)(item) })
	if err != nil {
		return nil, err
	}
	return n.reports(model.Secrets), nil
}

// lines calls element for each of the objects that follow each other up to the
// end of the file; element must consume it. Nothing else may stand there, for
// of a number, as an example, a cut could not be seen.
func (w *walker) lines(where string, element func(item string) error) error {
	for i := 0; ; i++ {
		item := where + "[" + strconv.Itoa(i) + "]"
		w.in.meter.allow(w.in.limits.Item)
		if !w.dec.More() {
			if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
				return w.fault(item, firstError(err, read.ErrTrailing))
			}
			return nil
		}
		if i >= w.in.limits.Items {
			return w.fault(where, tooMany(where, w.in.limits.Items))
		}
		if full := w.in.room.err; full != nil {
			return w.fault(item, full)
		}
		var next [1]byte
		if _, err := w.dec.Buffered().Read(next[:]); err != nil || next[0] != '{' {
			return w.fault(item, errors.New("an object was expected"))
		}
		if err := element(item); err != nil {
			return err
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *native) truffleHog(item string, l *truffleHogLine) {
	if l.Detector == "" && l.Level != "" && l.Log != "" {
		return
	}
	var place struct {
		File   read.Text   `json:"file"`
		Line   read.Number `json:"line"`
		Commit read.Text   `json:"commit"`
	}
	for _, kind := range slices.Sorted(maps.Keys(l.Source.Data)) {
		read.Loosely(l.Source.Data[kind], &place)
	}
	found := leak{
		item: item, path: string(place.File), raw: string(cmp.Or(l.Raw, l.RawV2)), others: []string{string(l.RawV2)},
		commit: place.Commit, location: model.Location{Line: int(place.Line)},
		rule: model.Rule{Name: l.Detector.Name(), Message: l.Description.Block()},
	}
	for _, part := range slices.Sorted(maps.Keys(l.Parts)) {
		found.others = append(found.others, string(l.Parts[part]))
	}
	switch {
	case bool(l.Verified):
		found.state, found.severity = model.ConfirmedValid, model.SeverityCritical
	case l.Failed != "":
		found.state = model.ValidationError
	}
	n.leaked(found)
}
