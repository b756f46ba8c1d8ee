package hosts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Marks are hidden at the end of comments, so that ours are found again where the host's
// answer was lost. Several servers, deployments and connections may write at one change
// request with the same account: each mark names whose it is.

// origin is who writes: a server, a deployment of it, and a connection of that.
type origin struct {
	instance               string // hexadecimal digits
	deployment, connection int64
}

// String is as in 1b9ff0c2d4a55e77/1/4.
func (o origin) String() string {
	return fmt.Sprintf("%s/%d/%d", o.instance, o.deployment, o.connection)
}

// origin is that of what is written by a connection.
func (k *Service) origin(deployment, connection int64) origin {
	return origin{k.Instance, deployment, connection}
}

// mark is that of a comment about a lineage, or of the summary.
type mark struct {
	lineage int64 // 0: it is the summary
	settled bool
	of      origin // the zero one: it was written before marks named whose they are
}

func (m mark) String() string {
	what := "summary"
	if m.lineage != 0 {
		what = fmt.Sprintf("lineage:%d", m.lineage)
	}
	if m.settled {
		what += " settled"
	}
	return fmt.Sprintf("<!-- redoubt:%s of %s -->", what, m.of)
}

var markPattern = regexp.MustCompile(`<!-- redoubt:(?:summary|lineage:([0-9]{1,18}))( settled)?(?: of ` +
	`([0-9a-f]{1,64})/([0-9]{1,18})/([0-9]{1,18}))? -->\s*$`)

// markOf reads the mark at the end of a comment.
func markOf(body string) (m mark, found bool) {
	parts := markPattern.FindStringSubmatch(body)
	if parts == nil {
		return m, false
	}
	number := func(digits string) int64 {
		n, _ := strconv.ParseInt(digits, 10, 64) // 18 digits at most, by the pattern; 0 where there are none
		return n
	}
	return mark{number(parts[1]), parts[2] != "", origin{parts[3], number(parts[4]), number(parts[5])}}, true
}

// withoutMark is a comment without it.
func withoutMark(body string) string {
	return strings.TrimSpace(markPattern.ReplaceAllString(body, ""))
}

// replyMark is that of an answer to a comment.
func replyMark(comment string, of origin) string {
	return fmt.Sprintf("<!-- redoubt:reply:%s of %s -->", comment, of)
}
