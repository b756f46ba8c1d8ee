package web

// decisionsRoutes are the rows about what is accepted, and what people ask to have accepted.
func decisionsRoutes() []route {
	return []route{
		{row(get, org+"/exceptions", viewer, reads), listExceptions},
		{row(post, org+"/exceptions", triager, writes), formed(addException)},
		{row(get, org+"/exceptions/{id}", viewer, reads), showException},
		{row(post, org+"/exceptions/{id}/remove", triager, writes), removeException},
		{row(post, org+"/exceptions/requests", viewer, writes), formed(askException)},
		{row(post, org+"/exceptions/{id}", triager, writes), formed(decideException)},
		{row(post, org+"/exceptions/{id}/withdraw", viewer, writes), withdrawException},
		{row(post, org+"/exceptions/{id}/undo", triager, writes), undoException},
	}
}
