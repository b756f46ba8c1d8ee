'use strict';

const { exec } = require('child_process');
const fs = require('fs');
const path = require('path');

const express = require('express');

const router = express.Router();
const folder = path.join(__dirname, '..', 'uploads');

router.get('/:name', (req, res) => {
  fs.readFile(path.join(folder, req.params.name), (err, data) => {
    if (err) return res.sendStatus(404);
    res.send(data);
  });
});

router.post('/:name/thumbnail', (req, res) => {
  exec('convert ' + req.params.name + ' -resize 120x120 thumb.png', { cwd: folder }, (err) => {
    res.sendStatus(err ? 500 : 201);
  });
});

module.exports = router;
