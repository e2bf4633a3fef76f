BEGIN TRANSACTION;
CREATE TABLE api_keys (
	id VARCHAR(16) NOT NULL, 
	gate INTEGER NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	scopes VARCHAR(100) NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	expires VARCHAR(32), 
	revoked VARCHAR(32), 
	PRIMARY KEY (id), 
	FOREIGN KEY(gate) REFERENCES gates (number)
);
INSERT INTO "api_keys" VALUES('d9258a7d7b71',1,'application','46acd0d55e2659d9aa068d5ef2b38fa5f26a6170c8e64a89aabb2d27fcc32f59','decide','2026-01-05T09:02:00.000000+00:00',NULL,NULL);
CREATE TABLE cases (
	gate INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	place INTEGER NOT NULL, 
	id VARCHAR(200) NOT NULL, 
	round INTEGER NOT NULL, 
	"group" SMALLINT NOT NULL, 
	score DOUBLE NOT NULL, 
	bin INTEGER NOT NULL, 
	draw DOUBLE NOT NULL, 
	accepted SMALLINT NOT NULL, 
	PRIMARY KEY (gate, seq, place), 
	UNIQUE (gate, id)
)
 WITHOUT ROWID

;
INSERT INTO "cases" VALUES(1,4,0,'a-0-0',0,1,0.642,2,6.29121403785847133072e-01,1);
INSERT INTO "cases" VALUES(1,4,1,'a-0-1',0,0,0.744,2,4.75320503592691956384e-01,1);
INSERT INTO "cases" VALUES(1,4,2,'a-0-2',0,1,0.018,0,8.2757728159666865686e-01,0);
INSERT INTO "cases" VALUES(1,4,3,'a-0-3',0,0,0.453,1,1.81425656433824022961e-01,0);
INSERT INTO "cases" VALUES(1,4,4,'a-0-4',0,0,0.341,1,3.73778217474720397817e-01,0);
INSERT INTO "cases" VALUES(1,4,5,'a-0-5',0,0,0.483,1,3.58211500333099785997e-01,0);
INSERT INTO "cases" VALUES(1,4,6,'a-0-6',0,0,0.995,3,4.40155368235999322479e-02,1);
INSERT INTO "cases" VALUES(1,4,7,'a-0-7',0,0,0.746,2,7.99961102328435647024e-01,1);
INSERT INTO "cases" VALUES(1,4,8,'a-0-8',0,0,0.917,3,6.26590275037505528565e-01,1);
INSERT INTO "cases" VALUES(1,4,9,'a-0-9',0,0,0.405,1,9.17629021885002837954e-01,0);
INSERT INTO "cases" VALUES(1,4,10,'a-0-10',0,0,0.087,0,3.57854551249673247248e-01,0);
INSERT INTO "cases" VALUES(1,4,11,'a-0-11',0,1,0.239,0,4.84914456447792074911e-01,0);
INSERT INTO "cases" VALUES(1,8,0,'a-1-0',1,0,0.217,0,5.79711370212006804614e-01,0);
INSERT INTO "cases" VALUES(1,8,1,'a-1-1',1,1,0.292,1,4.89452210802425624613e-01,0);
INSERT INTO "cases" VALUES(1,8,2,'a-1-2',1,0,0.892,3,8.67746474204032725019e-01,1);
INSERT INTO "cases" VALUES(1,8,3,'a-1-3',1,1,0.024,0,2.92888078116993799682e-01,0);
INSERT INTO "cases" VALUES(1,8,4,'a-1-4',1,0,0.226,0,4.17246256764744360978e-01,0);
INSERT INTO "cases" VALUES(1,8,5,'a-1-5',1,0,0.064,0,0.0913974002215312,0);
INSERT INTO "cases" VALUES(1,8,6,'a-1-6',1,0,0.558,2,3.83080286898166422204e-01,1);
INSERT INTO "cases" VALUES(1,8,7,'a-1-7',1,0,0.677,2,5.96769586392091100357e-01,1);
INSERT INTO "cases" VALUES(1,8,8,'a-1-8',1,1,0.274,1,9.65633267267293260438e-01,0);
INSERT INTO "cases" VALUES(1,8,9,'a-1-9',1,0,0.689,2,6.37973551579888775719e-01,1);
INSERT INTO "cases" VALUES(1,8,10,'a-1-10',1,1,0.489,1,1.5036905059295668785e-02,0);
INSERT INTO "cases" VALUES(1,8,11,'a-1-11',1,1,0.101,0,1.93141038956778920976e-01,0);
INSERT INTO "cases" VALUES(1,12,0,'a-2-0',2,1,0.094,0,3.61459339973692284075e-01,0);
INSERT INTO "cases" VALUES(1,12,1,'a-2-1',2,0,0.352,1,0.870027472897856,0);
INSERT INTO "cases" VALUES(1,12,2,'a-2-2',2,1,0.008,0,1.37218581356806090809e-01,0);
INSERT INTO "cases" VALUES(1,12,3,'a-2-3',2,1,0.866,3,2.92094690767368270201e-01,1);
INSERT INTO "cases" VALUES(1,12,4,'a-2-4',2,1,0.119,0,7.42058385498799211177e-01,0);
INSERT INTO "cases" VALUES(1,12,5,'a-2-5',2,1,0.153,0,1.40476348368738679361e-01,0);
INSERT INTO "cases" VALUES(1,12,6,'a-2-6',2,1,0.686,2,8.96474304168141111759e-02,1);
INSERT INTO "cases" VALUES(1,12,7,'a-2-7',2,1,0.826,3,2.75676638336716295363e-01,1);
INSERT INTO "cases" VALUES(1,12,8,'a-2-8',2,0,0.136,0,8.93802652255423213389e-01,0);
INSERT INTO "cases" VALUES(1,12,9,'a-2-9',2,0,0.226,0,3.30238300104641946397e-01,0);
INSERT INTO "cases" VALUES(1,12,10,'a-2-10',2,1,0.976,3,5.51528311617138555789e-01,1);
INSERT INTO "cases" VALUES(1,12,11,'a-2-11',2,1,0.425,1,2.7228787981534652296e-01,0);
INSERT INTO "cases" VALUES(1,17,0,'b-1',3,1,0.3,1,1.26078617955941663097e-01,1);
INSERT INTO "cases" VALUES(1,21,0,'a-3-0',4,0,0.113,0,3.52683113451632390678e-01,1);
INSERT INTO "cases" VALUES(1,21,1,'a-3-1',4,0,0.191,0,8.69317714966505450391e-02,1);
INSERT INTO "cases" VALUES(1,21,2,'a-3-2',4,0,0.532,2,2.93776328785693152667e-02,1);
INSERT INTO "cases" VALUES(1,21,3,'a-3-3',4,1,0.065,0,7.97915706369714095025e-01,1);
INSERT INTO "cases" VALUES(1,21,4,'a-3-4',4,1,0.598,2,6.35578517265241171863e-01,1);
INSERT INTO "cases" VALUES(1,21,5,'a-3-5',4,1,0.462,1,8.37923318889168156076e-01,1);
INSERT INTO "cases" VALUES(1,21,6,'a-3-6',4,0,0.96,3,0.516696480211035,1);
INSERT INTO "cases" VALUES(1,21,7,'a-3-7',4,0,0.998,3,5.56567956083302561864e-02,1);
INSERT INTO "cases" VALUES(1,21,8,'a-3-8',4,0,0.118,0,7.79271208018749161894e-02,1);
INSERT INTO "cases" VALUES(1,21,9,'a-3-9',4,1,0.227,0,8.28352412423467576729e-02,1);
INSERT INTO "cases" VALUES(1,21,10,'a-3-10',4,1,0.926,3,4.87344414285243443529e-01,1);
INSERT INTO "cases" VALUES(1,21,11,'a-3-11',4,1,0.618,2,7.75337293675035454931e-01,1);
INSERT INTO "cases" VALUES(1,25,0,'a-4-0',5,1,0.743,2,1.05849720870067720568e-01,1);
INSERT INTO "cases" VALUES(1,25,1,'a-4-1',5,0,0.355,1,5.59611214986958649397e-01,1);
INSERT INTO "cases" VALUES(1,25,2,'a-4-2',5,0,0.602,2,6.80368033195458132844e-01,1);
INSERT INTO "cases" VALUES(1,25,3,'a-4-3',5,1,0.465,1,1.63774259440044644975e-01,1);
INSERT INTO "cases" VALUES(1,25,4,'a-4-4',5,1,0.799,3,4.5657770456142721116e-02,1);
INSERT INTO "cases" VALUES(1,25,5,'a-4-5',5,0,0.113,0,6.01018277389662070042e-01,1);
INSERT INTO "cases" VALUES(1,25,6,'a-4-6',5,0,0.462,1,5.3721076655755772844e-01,1);
INSERT INTO "cases" VALUES(1,25,7,'a-4-7',5,1,0.419,1,3.69009071672675492692e-01,1);
INSERT INTO "cases" VALUES(1,25,8,'a-4-8',5,0,0.04,0,4.95909417994701118281e-01,1);
INSERT INTO "cases" VALUES(1,25,9,'a-4-9',5,1,0.207,0,1.69850718184057503101e-01,1);
INSERT INTO "cases" VALUES(1,25,10,'a-4-10',5,1,0.791,3,3.84888298150675489672e-01,1);
INSERT INTO "cases" VALUES(1,25,11,'a-4-11',5,0,0.373,1,2.07961810772857469409e-01,1);
INSERT INTO "cases" VALUES(1,29,0,'a-5-0',6,0,0.967,3,5.35464855775944714721e-01,1);
INSERT INTO "cases" VALUES(1,29,1,'a-5-1',6,1,0.035,0,6.60880246297059215088e-01,1);
INSERT INTO "cases" VALUES(1,29,2,'a-5-2',6,1,0.895,3,9.49608405430744539899e-01,1);
INSERT INTO "cases" VALUES(1,29,3,'a-5-3',6,0,0.742,2,9.01486194449633071457e-01,1);
INSERT INTO "cases" VALUES(1,29,4,'a-5-4',6,1,0.066,0,1.35995076523417801617e-01,1);
INSERT INTO "cases" VALUES(1,29,5,'a-5-5',6,0,0.738,2,3.3480694323877868701e-01,1);
INSERT INTO "cases" VALUES(1,29,6,'a-5-6',6,1,0.352,1,8.42475850347340515789e-01,1);
INSERT INTO "cases" VALUES(1,29,7,'a-5-7',6,0,0.959,3,6.31597254778594741075e-01,1);
INSERT INTO "cases" VALUES(1,29,8,'a-5-8',6,0,0.433,1,4.09616121794061038841e-01,1);
INSERT INTO "cases" VALUES(1,29,9,'a-5-9',6,0,0.425,1,3.97449366672733339633e-01,1);
INSERT INTO "cases" VALUES(1,29,10,'a-5-10',6,1,0.143,0,2.45310717170642123008e-01,1);
INSERT INTO "cases" VALUES(1,29,11,'a-5-11',6,1,0.161,0,5.97288172864540278794e-01,1);
CREATE TABLE events (
	gate INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	round INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	at VARCHAR(32) NOT NULL, 
	actor VARCHAR(100) NOT NULL, 
	"key" VARCHAR(200), 
	request VARCHAR(64), 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (gate, seq), 
	UNIQUE (gate, "key"), 
	FOREIGN KEY(gate) REFERENCES gates (number)
)
 WITHOUT ROWID

;
INSERT INTO "events" VALUES(1,1,'created',0,'{"commitment":"2d55f1280adf7f31023e8dc9d3cd79220871bcd8428b3e0a76662b0cbe4a1163","library":"0.1.0","spec":{"constraints":{"parity":0.2},"false_positive_cost":1.0,"grid":[0.25,0.5,0.75],"groups":["women","men"],"guards":{"alpha":0.05,"floor":null,"highest":null,"lotteries":true,"lowest":null,"pause_if_broken":true,"pause_if_quiet_days":null,"step":null},"label_due_days":30.0,"learner":"safe-forecast","name":"credit","per_group":"","rounds":{"people":12,"seconds":null},"seed":0,"start":{"mode":"hold","threshold":0.5},"store":"cases"},"versions":{"numpy":"2.4.6","python":"3.11.7","scikit-learn":"1.9.1","scipy":"1.17.1"}}','2026-01-05T09:01:00.000000+00:00','python',NULL,NULL,'7c0b35abacced52f31cbf31b61f00e5f893e2e88a22d32748344fcbf9d8a0822');
INSERT INTO "events" VALUES(1,2,'key-added',0,'{"created":"2026-01-05T09:02:00.000000+00:00","expires":null,"hash":"46acd0d55e2659d9aa068d5ef2b38fa5f26a6170c8e64a89aabb2d27fcc32f59","id":"d9258a7d7b71","name":"application","scopes":["decide"]}','2026-01-05T09:03:00.000000+00:00','python',NULL,NULL,'b1e22110f7064bc63a8a04bd3f5c5c8e1647ba3a3e1feef2edcdfd700a4e70cc');
INSERT INTO "events" VALUES(1,3,'opened',0,'{"allowed":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"commitment":"2bf964fb4e40b1682e9ccdbeef3b32b55adc6e0e8279a95c01cc0f86129d9329","guards":[],"mode":"hold","policy":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"since":0,"waiting":""}','2026-01-05T09:04:00.000000+00:00','python',NULL,NULL,'16b799a3e0b8afeaa38bd4b405c3bd3186f50ee61c3aaa008965837db120aea0');
INSERT INTO "events" VALUES(1,4,'decided',0,'{"digest":"3b803cbf5dfb0f0ca7b7fd5df451c20cc4f3844e9ba55bce7c6580641f45c7b2","people":12,"tally":[[0,0,0,1],[0,1,0,4],[0,2,1,2],[0,3,1,2],[1,0,0,2],[1,2,1,1]]}','2026-01-05T09:04:00.000000+00:00','python','batch 0','cca08160e488a1f2da98029741e5bd4354d7ce774d66d9ffad38751641fcc928','77eddb96e2431c50fce1fdb1d0e8ca4a3e9fb8476abcb8a244296f1caf3a11b3');
INSERT INTO "events" VALUES(1,5,'closed',0,'{"counts":[[0,0,0,1],[0,1,0,4],[0,2,1,2],[0,3,1,2],[1,0,0,2],[1,2,1,1]],"groups":[[9,4],[3,1]],"labels":[],"people":12,"played":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"secret":"bca91d8dfdf7e202d4b3c97dd7c77803c45768356a2ce5e5ef43a1f380ca3422","why":"people"}','2026-01-05T09:04:00.000000+00:00','python',NULL,NULL,'bcbef0f50fe22d381724450b9f7d533f70072a2d69a43a224a9c94a6d669e539');
INSERT INTO "events" VALUES(1,6,'outcomes',1,'{"aside":[],"digest":"89270808d791fce0c581541f68868186ca2ad4684417ac0d18d95c1cfd772802","tally":[[0,0,2,0,1],[0,0,2,1,1],[0,0,3,0,1],[0,1,2,1,1]]}','2026-01-05T09:05:00.000000+00:00','python',NULL,NULL,'0d76db193276f54a6088e86166ec1c881c01fad2ab8306ab1020856642af7f15');
INSERT INTO "events" VALUES(1,7,'opened',1,'{"allowed":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"commitment":"6dd57e620a179aab66ead703e76be21acea566c77d335765050d0ee257f7150a","guards":[],"mode":"hold","policy":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"since":0,"waiting":""}','2026-01-05T09:06:00.000000+00:00','python',NULL,NULL,'51ca7cade160c7feac1c977bff79a474a91ef19123ba973dcf7b110213aa9085');
INSERT INTO "events" VALUES(1,8,'decided',1,'{"digest":"9d639023398a597c5854b31faf03262ba34b3e6c137bfb923bd31b503cec14cd","people":12,"tally":[[0,0,0,3],[0,2,1,3],[0,3,1,1],[1,0,0,2],[1,1,0,3]]}','2026-01-05T09:06:00.000000+00:00','python','batch 1','00e1c68d015b18f5e16396ffb2f13af446c85e7b09e0d7b0ee03a0b78cc8c565','60ceac90b462bf7d996b7f52e9f1af1d6bbb2dcbf3653b13425abb51701e4862');
INSERT INTO "events" VALUES(1,9,'closed',1,'{"counts":[[0,0,0,3],[0,2,1,3],[0,3,1,1],[1,0,0,2],[1,1,0,3]],"groups":[[7,4],[5,0]],"labels":[[0,0,2,0,1],[0,0,2,1,1],[0,0,3,0,1],[0,1,2,1,1]],"people":12,"played":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"secret":"32408bd3e02acaa86357fc65392f6eefb9d7618beb53e902a78e99fc5215d7c2","why":"people"}','2026-01-05T09:06:00.000000+00:00','python',NULL,NULL,'6266c7a7dd618ff9d957e0c2b0a6aa1e0027b1bf972d2f93741cabce42d78178');
INSERT INTO "events" VALUES(1,10,'outcomes',2,'{"aside":[],"digest":"b0c32f5b3fd6123629cc2b9448443e9540846823d64c5fddc4db2f22715d26ad","tally":[[1,0,2,0,1],[1,0,2,1,1],[1,0,3,1,1]]}','2026-01-05T09:07:00.000000+00:00','python',NULL,NULL,'755d2b72abd13a8c3091748a980c561be2d6ecf4830c445a70ae2718071461f6');
INSERT INTO "events" VALUES(1,11,'opened',2,'{"allowed":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"commitment":"5bb48c86b6440ad408d75b90a68eb910a710236b7f17202735f5c21b71b5301e","guards":[],"mode":"hold","policy":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"since":0,"waiting":""}','2026-01-05T09:09:00.000000+00:00','python',NULL,NULL,'964bdef9b39fb02f47a79449aaf6027792829c9888c1c177216854918adfd0ee');
INSERT INTO "events" VALUES(1,12,'decided',2,'{"digest":"d613c619e3e18af19bdf85935565d3013ef492e287bba44f3e7f20245ca91a2d","people":12,"tally":[[0,0,0,2],[0,1,0,1],[1,0,0,4],[1,1,0,1],[1,2,1,1],[1,3,1,3]]}','2026-01-05T09:09:00.000000+00:00','python','batch 2','d9864adda5d3e57a71410b02e03e9a1f7bc540dc9805eb354037ee4f9391e18e','2c06c48db8e773c351b13a75ebf54a72b49ae3b0249e12bf882a3875d622daa9');
INSERT INTO "events" VALUES(1,13,'closed',2,'{"counts":[[0,0,0,2],[0,1,0,1],[1,0,0,4],[1,1,0,1],[1,2,1,1],[1,3,1,3]],"groups":[[3,0],[9,4]],"labels":[[1,0,2,0,1],[1,0,2,1,1],[1,0,3,1,1]],"people":12,"played":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"secret":"aeed7397c8659dd66cef7ee8c7bd2dede4571029591605126487c862300c69c9","why":"people"}','2026-01-05T09:09:00.000000+00:00','python',NULL,NULL,'5861db6bef716997ff0b1168153980e3ca87192b3a4146b692b4665e915e390e');
INSERT INTO "events" VALUES(1,14,'outcomes',3,'{"aside":[],"digest":"735b25d5cfc879938f76c85724c17be7674dbc086f7f8ccaa35a39f4a508eba1","tally":[[2,1,2,1,1],[2,1,3,0,2]]}','2026-01-05T09:10:00.000000+00:00','python',NULL,NULL,'0e424dad4e9b3be22abcc8dc1ba8b5cd95c796568f62f3ee26ee365d5d00d992');
INSERT INTO "events" VALUES(1,15,'mode',3,'{"before":"hold","mode":"learn","policy":null,"reason":"enough seen"}','2026-01-05T09:11:00.000000+00:00','python',NULL,NULL,'436e84228fe82325d0a59cce6ade203d75733edd3a7d048d244bf74eb7242454');
INSERT INTO "events" VALUES(1,16,'opened',3,'{"allowed":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"commitment":"1008e6499ebce766914949a00f963e308b610838d89e190a5e1772df4edd23ae","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"since":3,"waiting":""}','2026-01-05T09:12:00.000000+00:00','python',NULL,NULL,'2738c8261e54ee1fe6567c0ed0564ba350c9c173e945d318500af4fe89b5fb2f');
INSERT INTO "events" VALUES(1,17,'decided',3,'{"digest":"900c1d18c9d7935e64b3d0af45d169fde0339bc18fdcf8eb79e7c5580f624b6f","people":1,"tally":[[1,1,1,1]]}','2026-01-05T09:12:00.000000+00:00','python',NULL,NULL,'9a3818ed376b1d23cd758447ce983514bf4dd305a224dcba75e61e1b6cad2ed0');
INSERT INTO "events" VALUES(1,18,'overridden',3,'{"accepted":0,"before":1,"bin":1,"group":1,"id":"b-1","reason":"a person knows better"}','2026-01-05T09:13:00.000000+00:00','python',NULL,NULL,'5a318d21afbf299e33f9d34d75dd466eca8a5f6606a5d5b704c9a0ce5dbbacdd');
INSERT INTO "events" VALUES(1,19,'closed',3,'{"counts":[],"groups":[[0,0],[1,0]],"labels":[[2,1,2,1,1],[2,1,3,0,2]],"people":1,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"f3880eb583a7a28bca2dd1fb87abbf10124dff127372c4fdc97e415fe19064a8","why":"call"}','2026-01-05T09:14:00.000000+00:00','python',NULL,NULL,'a6da1713f7d9418d5b8d9cc178b6d166fc5a14ec7b8c3fe7f4b585a61717dafb');
INSERT INTO "events" VALUES(1,20,'opened',4,'{"allowed":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"commitment":"523fddd9d65ffceff37ec03542c86751da5b593b7cb3bc5e295a22e4458fd14d","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"since":3,"waiting":""}','2026-01-05T09:15:00.000000+00:00','python',NULL,NULL,'8a1dc9e84da22253214affd2f328eebc8875388dfa8b501872744f33a7eb8876');
INSERT INTO "events" VALUES(1,21,'decided',4,'{"digest":"47cc745fef7b9e05d7c58d73493c95ab96348b7a5303bcd1e55e867e63dddd35","people":12,"tally":[[0,0,1,3],[0,2,1,1],[0,3,1,2],[1,0,1,2],[1,1,1,1],[1,2,1,2],[1,3,1,1]]}','2026-01-05T09:15:00.000000+00:00','python','batch 3','b28f3f91dceef8164d7198fae517ffc6c0b9628a17df30f5759a52433c33a7ef','f23ddfee2958012e47449121880e53d2da56cf3f6f78abbf0623669e3354e0fc');
INSERT INTO "events" VALUES(1,22,'closed',4,'{"counts":[[0,0,1,3],[0,2,1,1],[0,3,1,2],[1,0,1,2],[1,1,1,1],[1,2,1,2],[1,3,1,1]],"groups":[[6,6],[6,6]],"labels":[],"people":12,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"be93dd0f11eff7cfedf545ac687dcee2b94e5270972412f8ca7f0782699727bf","why":"people"}','2026-01-05T09:15:00.000000+00:00','python',NULL,NULL,'12e4183038d9eb1587034cce476b36647287c216c4458e817d5f990b435c96d6');
INSERT INTO "events" VALUES(1,23,'outcomes',5,'{"aside":[],"digest":"bf8ecf56cbc8d87972263804520b12c32e055e30c88adfd4cf977f2124729afc","tally":[[4,0,0,0,2],[4,0,0,1,1],[4,0,2,1,1],[4,0,3,0,2],[4,1,0,0,2],[4,1,1,0,1],[4,1,2,0,1],[4,1,3,0,1]]}','2026-01-05T09:16:00.000000+00:00','python',NULL,NULL,'8da8bd45795107d4264f29ad6ec6777a8a109fa1872e6824834a9c737d950b76');
INSERT INTO "events" VALUES(1,24,'opened',5,'{"allowed":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"commitment":"64a80252605ff2211a7574e44790264d12746fbac6305c16181bd8014a5bc0e5","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"since":3,"waiting":""}','2026-01-05T09:17:00.000000+00:00','python',NULL,NULL,'5b08fe9f5d3391e2852c6ebb8ad7179b8ae1f4651d70b59e46eabbf9382a65ee');
INSERT INTO "events" VALUES(1,25,'decided',5,'{"digest":"8c9159edf40cd95dd9bdc9fbe0fb2ab3ab74f7a8cdf44fd950205d705565275e","people":12,"tally":[[0,0,1,2],[0,1,1,3],[0,2,1,1],[1,0,1,1],[1,1,1,2],[1,2,1,1],[1,3,1,2]]}','2026-01-05T09:17:00.000000+00:00','python','batch 4','ec7201022cbb066262348fbd33bd684ff71a8749ad25010610e083afcadd17cc','d311d115eeef2f74c347d7877d7a0987f5d9093d849fefa6917d61b582e34957');
INSERT INTO "events" VALUES(1,26,'closed',5,'{"counts":[[0,0,1,2],[0,1,1,3],[0,2,1,1],[1,0,1,1],[1,1,1,2],[1,2,1,1],[1,3,1,2]],"groups":[[6,6],[6,6]],"labels":[[4,0,0,0,2],[4,0,0,1,1],[4,0,2,1,1],[4,0,3,0,2],[4,1,0,0,2],[4,1,1,0,1],[4,1,2,0,1],[4,1,3,0,1]],"people":12,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"5c40acd079991b3424300aa35e19c5cefd9baec6a8f425b39875367bad0ca7c3","why":"people"}','2026-01-05T09:17:00.000000+00:00','python',NULL,NULL,'11d9a26c73018cbf173b089e2b1dcab0888ed22cbd6b044b77cf633a1737ae3d');
INSERT INTO "events" VALUES(1,27,'outcomes',6,'{"aside":[],"digest":"c18a07a3d79fc3c549c429564eb64201a232e258288deec3fda6a300ab762d99","tally":[[5,0,0,0,1],[5,0,0,1,1],[5,0,1,0,2],[5,0,2,0,1],[5,1,0,0,1],[5,1,1,1,2],[5,1,2,0,1],[5,1,3,0,1],[5,1,3,1,1]]}','2026-01-05T09:18:00.000000+00:00','python',NULL,NULL,'3374bd489f68acff33d86dab27316085bef0fd2e69918ccf2ed642e2eb2e360e');
INSERT INTO "events" VALUES(1,28,'opened',6,'{"allowed":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"commitment":"83ec3c1ab6e801ee0946e2b8fb4f600efbaf05a8b316a4d20901de25bc2f8b6f","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"since":3,"waiting":""}','2026-01-05T09:19:00.000000+00:00','python',NULL,NULL,'7640416d9c6904f3fd85b676098f69d7fe08e5386ebaa6cd7ebea5a76a39d0d7');
INSERT INTO "events" VALUES(1,29,'decided',6,'{"digest":"27c799a3de75406cf0ae318d5081189a21f9c480b70dfdea5d5003dea9ed964b","people":12,"tally":[[0,1,1,2],[0,2,1,2],[0,3,1,2],[1,0,1,4],[1,1,1,1],[1,3,1,1]]}','2026-01-05T09:19:00.000000+00:00','python','batch 5','6df07fa5ae314de4bb9d3300aee678fc65bdd24c7f0464c1a7101b2118b1dbec','055e815e124f994fe6953d5c13c0200252e7bfb320f79d78e3bbca51663a6438');
INSERT INTO "events" VALUES(1,30,'closed',6,'{"counts":[[0,1,1,2],[0,2,1,2],[0,3,1,2],[1,0,1,4],[1,1,1,1],[1,3,1,1]],"groups":[[6,6],[6,6]],"labels":[[5,0,0,0,1],[5,0,0,1,1],[5,0,1,0,2],[5,0,2,0,1],[5,1,0,0,1],[5,1,1,1,2],[5,1,2,0,1],[5,1,3,0,1],[5,1,3,1,1]],"people":12,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"1c27efcac32050399cc3209786eae791da3807ca0c192160a186d9eb43fc1ff6","why":"people"}','2026-01-05T09:19:00.000000+00:00','python',NULL,NULL,'ab22f82e4fc354228eb8de16df394503f31ab3f9835f055d359ae1c88557d4d6');
INSERT INTO "events" VALUES(1,31,'outcomes',7,'{"aside":[],"digest":"f5858ea510ff22596578f21e088207516862e135d8ce1ccfa951ef06a20b2c3f","tally":[[6,0,1,0,1],[6,0,1,1,1],[6,0,2,0,1],[6,0,2,1,1],[6,0,3,0,2],[6,1,0,0,1],[6,1,0,1,2],[6,1,1,0,1],[6,1,3,1,1]]}','2026-01-05T09:20:00.000000+00:00','python',NULL,NULL,'63a4c3dc173967b7b1b9907887f5bb70f6d19461442d2abe969877fec6ca08f2');
CREATE TABLE fairgate_revision (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT fairgate_revision_pkc PRIMARY KEY (version_num)
);
INSERT INTO "fairgate_revision" VALUES('0001');
CREATE TABLE gates (
	number INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	secret BLOB NOT NULL, 
	last BIGINT NOT NULL, 
	head VARCHAR(64) NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (name)
);
INSERT INTO "gates" VALUES(1,'credit',X'C9D102D05B6EAA9EB3C734B51C1B35BDABFC4AB1C90BD051C6C3E55FCB3F9D47',31,'63a4c3dc173967b7b1b9907887f5bb70f6d19461442d2abe969877fec6ca08f2');
CREATE TABLE outcomes (
	gate INTEGER NOT NULL, 
	id VARCHAR(200) NOT NULL, 
	seq BIGINT NOT NULL, 
	label SMALLINT NOT NULL, 
	PRIMARY KEY (gate, id, seq)
)
 WITHOUT ROWID

;
INSERT INTO "outcomes" VALUES(1,'a-0-0',6,1);
INSERT INTO "outcomes" VALUES(1,'a-0-1',6,1);
INSERT INTO "outcomes" VALUES(1,'a-0-6',6,0);
INSERT INTO "outcomes" VALUES(1,'a-0-7',6,0);
INSERT INTO "outcomes" VALUES(1,'a-1-2',10,1);
INSERT INTO "outcomes" VALUES(1,'a-1-6',10,0);
INSERT INTO "outcomes" VALUES(1,'a-1-7',10,1);
INSERT INTO "outcomes" VALUES(1,'a-2-3',14,0);
INSERT INTO "outcomes" VALUES(1,'a-2-6',14,1);
INSERT INTO "outcomes" VALUES(1,'a-2-7',14,0);
INSERT INTO "outcomes" VALUES(1,'a-3-0',23,1);
INSERT INTO "outcomes" VALUES(1,'a-3-1',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-10',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-2',23,1);
INSERT INTO "outcomes" VALUES(1,'a-3-3',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-4',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-5',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-6',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-7',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-8',23,0);
INSERT INTO "outcomes" VALUES(1,'a-3-9',23,0);
INSERT INTO "outcomes" VALUES(1,'a-4-0',27,0);
INSERT INTO "outcomes" VALUES(1,'a-4-1',27,0);
INSERT INTO "outcomes" VALUES(1,'a-4-10',27,1);
INSERT INTO "outcomes" VALUES(1,'a-4-2',27,0);
INSERT INTO "outcomes" VALUES(1,'a-4-3',27,1);
INSERT INTO "outcomes" VALUES(1,'a-4-4',27,0);
INSERT INTO "outcomes" VALUES(1,'a-4-5',27,0);
INSERT INTO "outcomes" VALUES(1,'a-4-6',27,0);
INSERT INTO "outcomes" VALUES(1,'a-4-7',27,1);
INSERT INTO "outcomes" VALUES(1,'a-4-8',27,1);
INSERT INTO "outcomes" VALUES(1,'a-4-9',27,0);
INSERT INTO "outcomes" VALUES(1,'a-5-0',31,0);
INSERT INTO "outcomes" VALUES(1,'a-5-1',31,1);
INSERT INTO "outcomes" VALUES(1,'a-5-10',31,0);
INSERT INTO "outcomes" VALUES(1,'a-5-2',31,1);
INSERT INTO "outcomes" VALUES(1,'a-5-3',31,1);
INSERT INTO "outcomes" VALUES(1,'a-5-4',31,1);
INSERT INTO "outcomes" VALUES(1,'a-5-5',31,0);
INSERT INTO "outcomes" VALUES(1,'a-5-6',31,0);
INSERT INTO "outcomes" VALUES(1,'a-5-7',31,0);
INSERT INTO "outcomes" VALUES(1,'a-5-8',31,1);
INSERT INTO "outcomes" VALUES(1,'a-5-9',31,0);
CREATE TABLE overrides (
	gate INTEGER NOT NULL, 
	id VARCHAR(200) NOT NULL, 
	seq BIGINT NOT NULL, 
	accepted SMALLINT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (gate, id)
)
 WITHOUT ROWID

;
INSERT INTO "overrides" VALUES(1,'b-1',18,0,'a person knows better');
CREATE TABLE snapshots (
	gate INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	library VARCHAR(32) NOT NULL, 
	state TEXT NOT NULL, 
	PRIMARY KEY (gate, seq)
)
 WITHOUT ROWID

;
ANALYZE "sqlite_master";
INSERT INTO "sqlite_stat1" VALUES('events','events','1000000 1000000 1');
INSERT INTO "sqlite_stat1" VALUES('events','sqlite_autoindex_events_2','1000000 1000000 1');
INSERT INTO "sqlite_stat1" VALUES('events','events_by_round','1000000 1000000 100000 5');
INSERT INTO "sqlite_stat1" VALUES('cases','cases','1000000 1000000 100 1');
INSERT INTO "sqlite_stat1" VALUES('cases','sqlite_autoindex_cases_2','1000000 1000000 1');
INSERT INTO "sqlite_stat1" VALUES('outcomes','outcomes','1000000 1000000 1 1');
INSERT INTO "sqlite_stat1" VALUES('outcomes','outcomes_by_event','1000000 1000000 100');
INSERT INTO "sqlite_stat1" VALUES('overrides','overrides','10000 10000 1');
INSERT INTO "sqlite_stat1" VALUES('snapshots','snapshots','10 10 1');
CREATE INDEX events_by_round ON events (gate, kind, round);
CREATE INDEX outcomes_by_event ON outcomes (gate, seq);
COMMIT;
