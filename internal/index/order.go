package index

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Order is the sort order of a listing.
type Order uint8

// Orders sort equal findings newest first, and findings without a sort key last. Oldest reverses
// Newest, and LatestDue reverses Soonest except for findings without a due date.
const (
	Newest Order = iota // default order of the contract
	Oldest
	MostSevere
	Soonest // by due date
	LeastSevere
	LatestDue
	MostLikely // by EPSS score
	LeastLikely
	ExploitedFirst // known to be exploited according to KEV
	MostReachable
	LeastReachable
)

// orderNames contains the names of orders on pages and in the web API.
var orderNames = [...]string{
	"newest", "oldest", "risk", "due", "severity_asc", "due_desc",
	"epss", "epss_asc", "kev", "reachability", "reachability_asc",
}

// String returns the name of the order.
func (o Order) String() string { return orderNames[o] }

// ParseOrder returns the order with a name, and whether there is one.
func ParseOrder(word string) (Order, bool) {
	for i, name := range orderNames {
		if name == word {
			return Order(i), true
		}
	}
	return 0, false
}

// AppliesTo reports whether findings of an issue type can be sorted in this order.
func (o Order) AppliesTo(t model.IssueType) bool { return o < MostLikely || t == model.SCA }

// Orders returns the orders of an issue type.
func Orders(t model.IssueType) (out []Order) {
	for o := range Order(len(orderNames)) {
		if o.AppliesTo(t) {
			out = append(out, o)
		}
	}
	return out
}

// Values of fields in sort order. Rows with other values come last.
var (
	worstFirst = []uint8{
		uint8(model.SeverityCritical), uint8(model.SeverityHigh), uint8(model.SeverityMedium), uint8(model.SeverityLow),
	}
	mildestFirst  = reversed(worstFirst)
	mostReachable = []uint8{
		uint8(model.AlwaysReachable), uint8(model.Reachable), uint8(model.ConditionallyReachable),
		uint8(model.ReachabilityUnknown), uint8(model.Unreachable),
	}
	leastReachable   = reversed(mostReachable)
	exploitedAtFirst = []uint8{flagYes, flagNo}
)

func reversed(list []uint8) []uint8 {
	out := make([]uint8, len(list))
	for i, v := range list {
		out[len(list)-1-i] = v
	}
	return out
}

// ordered returns the ordinals at positions skip to skip+size of the rows in an order.
func (s *state) ordered(p *partition, b *roaring.Bitmap, o Order, skip, size int) []uint32 {
	switch o {
	case Oldest:
		return ascending(b, skip, size)
	case MostSevere:
		return p.classed(b, bySeverity, worstFirst, skip, size)
	case LeastSevere:
		return p.classed(b, bySeverity, mildestFirst, skip, size)
	case MostReachable:
		return p.classed(b, byReachability, mostReachable, skip, size)
	case LeastReachable:
		return p.classed(b, byReachability, leastReachable, skip, size)
	case ExploitedFirst:
		return p.classed(b, byExploited, exploitedAtFirst, skip, size)
	case MostLikely, LeastLikely:
		return p.byScore(b, o == LeastLikely, skip, size)
	case Soonest:
		return s.soonest(p, b, skip, size)
	case LatestDue:
		return s.latest(p, b, skip, size)
	}
	return descending(b, skip, size)
}

// classed sorts rows by the given values of a field. Rows with other values come last.
func (p *partition) classed(b *roaring.Bitmap, f field, values []uint8, skip, size int) []uint32 {
	var out []uint32
	rest := b
	for _, v := range values {
		if len(out) >= size {
			return out
		}
		set := roaring.And(rest, p.readBitmap(f, uint32(v)))
		rest = roaring.AndNot(rest, set)
		out = append(out, descending(set, skip, size-len(out))...)
		skip = max(skip-int(set.GetCardinality()), 0)
	}
	return append(out, descending(rest, skip, size-len(out))...)
}

// An EPSS score has five decimal places. Rows store it as an integer plus 1, and 0 for no score.
const (
	scoreUnits = 100_000
	noScore    = 0
)

func packScore(e *model.EPSS) uint32 {
	if e == nil {
		return noScore
	}
	return 1 + uint32(math.Round(min(max(e.Score, 0), 1)*scoreUnits))
}

// byScore sorts rows by score with a counting sort. It counts the rows of each score and then
// places only the rows of the page, so rows with equal scores need no sorting.
func (p *partition) byScore(b *roaring.Bitmap, ascending bool, skip, size int) []uint32 {
	column, total := p.columns[scored], int(b.GetCardinality())
	if column == nil || skip >= total || size <= 0 {
		return descending(b, skip, size)
	}
	ends := make([]uint32, scoreUnits+2) // number of rows by score; later the end position of each score
	for batch := range batches(b) {
		for _, ordinal := range batch {
			ends[column[ordinal]]++
		}
	}
	sum := uint32(0)
	for i := range len(ends) - 1 {
		score := len(ends) - 1 - i
		if ascending {
			score = i + 1
		}
		sum += ends[score]
		ends[score] = sum
	}
	ends[noScore] = uint32(total)
	out := make([]uint32, min(size, total-skip))
	for batch := range batches(b) { // oldest rows first, so each score is filled from its end
		for _, ordinal := range batch {
			score := column[ordinal]
			ends[score]--
			if at := int(ends[score]) - skip; at >= 0 && at < len(out) {
				out[at] = ordinal
			}
		}
	}
	return out
}
