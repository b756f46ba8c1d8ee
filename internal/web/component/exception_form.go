package component

// ExceptionForm is the form that requests an exception.
type ExceptionForm struct {
	IDs                         []int64
	Reason, Until, TriageReason string
	Back                        string
	Fault                       string
	Findings                    []ShownFinding
	Today                       string // in UTC
	Key                         string // distinguishes its fields from those of other forms on the page
}
