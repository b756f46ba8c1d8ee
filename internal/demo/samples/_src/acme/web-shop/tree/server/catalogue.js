'use strict';

const express = require('express');

const db = require('./db');

const router = express.Router();

router.get('/search', async (req, res) => {
  const rows = await db.query("SELECT * FROM product WHERE name LIKE '%" + req.query.q + "%'");
  res.json(rows);
});

router.get('/product/:id', async (req, res) => {
  const rows = await db.query('SELECT * FROM product WHERE id = ?', [req.params.id]);
  if (rows.length == 0) return res.sendStatus(404);
  res.json(rows[0]);
});

router.get('/price', (req, res) => {
  // A discount is a small formula, such as "price * 0.9".
  const price = Number(req.query.price);
  res.json({ price: eval(req.query.formula), from: price });
});

module.exports = router;
