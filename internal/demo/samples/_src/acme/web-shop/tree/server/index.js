'use strict';

const express = require('express');

const account = require('./account');
const catalogue = require('./catalogue');
const files = require('./files');
const mail = require('./mail');

const app = express();
app.use(express.urlencoded({ extended: false }));
app.use('/account', account);
app.use('/catalogue', catalogue);
app.use('/files', files);

app.get('/go', (req, res) => {
  res.redirect(req.query.to);
});

app.get('/hello', (req, res) => {
  res.send('<h1>Hello ' + req.query.name + '</h1>');
});

app.post('/contact', (req, res) => {
  mail.contact(req.body.from, req.body.text);
  res.sendStatus(202);
});

app.use((err, req, res, next) => {
  console.log(err);
  res.status(500).send(err.stack);
});

app.listen(process.env.PORT || 3000);
