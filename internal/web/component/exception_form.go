package component

// ExceptionForm is an exception that somebody asks for, on its way.
type ExceptionForm struct {
	IDs                         []int64
	Reason, Until, TriageReason string
	Back                        string
	Fault                       string
	Findings                    []ShownFinding
	Today                       string // in UTC
	Key                         string // tells its fields from others of the page
}
