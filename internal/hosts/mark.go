package hosts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Marks are hidden at the end of comments, so that our comments are found again if the response of
// the host was lost. Several servers, deployments and connections may write at one change request
// with the same account, so each mark names its origin.

// origin identifies the author of a comment: a server, a deployment and a connection.
type origin struct {
	instance               string // hexadecimal digits
	deployment, connection int64
}

// String formats the origin as in 1b9ff0c2d4a55e77/1/4.
func (o origin) String() string {
	return fmt.Sprintf("%s/%d/%d", o.instance, o.deployment, o.connection)
}

// origin returns the origin of comments that a connection writes.
func (k *Service) origin(deployment, connection int64) origin {
	return origin{k.Instance, deployment, connection}
}

// mark identifies a comment about a lineage, or the summary.
type mark struct {
	lineage  int64 // 0: the summary
	resolved bool
	of       origin // zero: from an older version, without origin
}

func (m mark) String() string {
	what := "summary"
	if m.lineage != 0 {
		what = fmt.Sprintf("lineage:%d", m.lineage)
	}
	if m.resolved {
		what += " settled"
	}
	return fmt.Sprintf("<!-- redoubt:%s of %s -->", what, m.of)
}

var markPattern = regexp.MustCompile(`<!-- redoubt:(?:summary|lineage:([0-9]{1,18}))( settled)?(?: of ` +
	`([0-9a-f]{1,64})/([0-9]{1,18})/([0-9]{1,18}))? -->\s*$`)

// markOf parses the mark at the end of a comment.
func markOf(body string) (m mark, found bool) {
	parts := markPattern.FindStringSubmatch(body)
	if parts == nil {
		return m, false
	}
	number := func(digits string) int64 {
		n, _ := strconv.ParseInt(digits, 10, 64) // at most 18 digits; 0 if there are none
		return n
	}
	return mark{number(parts[1]), parts[2] != "", origin{parts[3], number(parts[4]), number(parts[5])}}, true
}

// withoutMark returns a comment without its mark.
func withoutMark(body string) string {
	return strings.TrimSpace(markPattern.ReplaceAllString(body, ""))
}

// replyMark returns the mark of an answer to a comment.
func replyMark(comment string, of origin) string {
	return fmt.Sprintf("<!-- redoubt:reply:%s of %s -->", comment, of)
}
