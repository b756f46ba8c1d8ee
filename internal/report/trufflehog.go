package report

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/redoubt/redoubt"
)

// truffleHogLine is one line of what TruffleHog writes: a finding, or, where
// its log went into the same file, a message.
type truffleHogLine struct {
	Source struct {
		Data map[string]json.RawMessage `json:"Data"` // by the kind of source, one
	} `json:"SourceMetadata"`
	Detector    text            `json:"DetectorName"`
	Description text            `json:"DetectorDescription"`
	Verified    boolean         `json:"Verified"`
	Failed      text            `json:"VerificationError"`
	Raw         text            `json:"Raw"`
	RawV2       text            `json:"RawV2"`
	Parts       map[string]text `json:"SecretParts"`
	Level       text            `json:"level"`
	Log         text            `json:"msg"`
}

// readTruffleHog reads lines of JSON. The end of the file is the end of the
// report: nothing else tells it, and a scan that found nothing is empty.
func readTruffleHog(in *input, o Options) ([]*redoubt.Report, error) {
	n := newNative(in, o, "trufflehog")
	err := n.lines("findings", func(item string) error { return items(n, n.truffleHog)(item) })
	if err != nil {
		return nil, err
	}
	return n.reports(redoubt.Secrets), nil
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
				return w.fault(item, firstError(err, errTrailing))
			}
			return nil
		}
		if i >= w.in.limits.Items {
			return w.fault(where, tooMany(where, w.in.limits.Items))
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
		File   text   `json:"file"`
		Line   number `json:"line"`
		Commit text   `json:"commit"`
	}
	for _, kind := range sortedKeys(l.Source.Data) {
		loosely(l.Source.Data[kind], &place)
	}
	found := leak{
		item: item, path: string(place.File), raw: string(firstOf(l.Raw, l.RawV2)), others: []string{string(l.RawV2)},
		commit: place.Commit, location: redoubt.Location{Line: int(place.Line)},
		rule: redoubt.Rule{Name: l.Detector.name(), Message: l.Description.block()},
	}
	for _, part := range sortedKeys(l.Parts) {
		found.others = append(found.others, string(l.Parts[part]))
	}
	switch {
	case bool(l.Verified):
		found.state, found.severity = redoubt.ConfirmedValid, redoubt.SeverityCritical
	case l.Failed != "":
		found.state = redoubt.ValidationError
	}
	n.leaked(found)
}
