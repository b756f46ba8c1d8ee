package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt"
)

// outline is what is told of a match beside its rule, its place and its code: all there is
// to tell it by where nothing is told of the code (semantics §4).
type outline struct {
	// length is how long a match in one line is, in columns; 0 where it is not known or
	// in several lines.
	length int
	// message is the scanner's, without the places in the file that it speaks of; of a secret
	// there is none, since what is redacted says another.
	message string
}

func outlineOf(r *redoubt.Result) outline {
	return newOutline(wireLocation(r), isSecret(r), r.Message)
}

func newOutline(at redoubt.WireLocation, secret bool, message string) outline {
	var out outline
	if at.EndLine == at.Line && at.Column > 0 {
		out.length = max(0, at.EndColumn-at.Column)
	}
	if !secret {
		out.message = normalMessage(message, path.Base(at.FilePath))
	}
	return out
}

// storedOutline is that of a stored finding.
func storedOutline(f *redoubt.Finding, w redoubt.FindingWrite) (outline, error) {
	var body redoubt.Body
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", w.Body), &body); err != nil {
		return outline{}, err
	}
	var message string
	if body.RuleMessage != nil {
		message = *body.RuleMessage
	}
	return newOutline(body.Location, f.IssueType == redoubt.Secrets, message), nil
}

// storedOutlines are those of stored findings, by id.
func storedOutlines(ctx context.Context, s Store, rows []*redoubt.Finding) (map[int64]outline, error) {
	ids := make([]int64, len(rows))
	for i, f := range rows {
		ids[i] = f.ID
	}
	bodies, err := s.FindingBodies(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]outline, len(rows))
	for _, f := range rows {
		if out[f.ID], err = storedOutline(f, bodies[f.ID]); err != nil {
			return nil, fmt.Errorf("the body of finding %d: %w", f.ID, err)
		}
	}
	return out, nil
}

// position matches where a message speaks of a place in a file, which moves.
var position = regexp.MustCompile(`(?i)\b(?:lines?|cols?|columns?)[ :#]*\d+`)

// normalMessage is what stays of a message when its code moves in a file: no lines and
// columns, by these names or after the name of the file. Other numbers after a colon, as a
// port, may be of the code.
func normalMessage(message, file string) string {
	if !strings.ContainsAny(message, "0123456789") {
		return normalCode(message)
	}
	message = position.ReplaceAllString(message, "")
	var out strings.Builder
	for {
		before, after, found := strings.Cut(message, file+":")
		out.WriteString(before)
		if !found || file == "" {
			return normalCode(out.String())
		}
		out.WriteString(file)
		message = ":" + after
		for len(message) > 1 && message[0] == ':' && '0' <= message[1] && message[1] <= '9' {
			message = strings.TrimLeft(message[1:], "0123456789")
		}
	}
}
