package web

// decisionsRoutes are the rows about what is accepted, and what people ask to have accepted.
func decisionsRoutes() []route {
	return []route{
		{row(get, org+"/exceptions", roleViewer, reads), listExceptions},
		{row(post, org+"/exceptions", roleTriager, writes), formed(addException)},
		{row(get, org+"/exceptions/{id}", roleViewer, reads), showException},
		{row(post, org+"/exceptions/{id}/remove", roleTriager, writes), removeException},
		{row(post, org+"/exceptions/requests", roleViewer, writes), formed(askException)},
		{row(post, org+"/exceptions/{id}", roleTriager, writes), formed(decideException)},
		{row(post, org+"/exceptions/{id}/withdraw", roleViewer, writes), withdrawException},
		{row(post, org+"/exceptions/{id}/undo", roleTriager, writes), undoException},
	}
}
