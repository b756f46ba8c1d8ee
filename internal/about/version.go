package about

// Version is the version of the program. The linker sets it.
var Version = "dev"
