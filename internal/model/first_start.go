package model

// FirstStart is what the people of a deployment chose while it was set up. What they did
// is seen by what there is: scans, rules that block, people.
type FirstStart struct {
	// Left is whether an administrator said that they know their way: nobody is
	// shown the steps any more.
	Left bool
	// BlocksNothing is whether they chose that nothing blocks for now.
	BlocksNothing bool
}
