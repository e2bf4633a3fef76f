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
INSERT INTO "api_keys" VALUES('c9ce24eb3cb5',1,'application','db93dfa19c6c69dc9601f8655a4377700a6b6b9cce5f546ed4b1b89bdcf3c0d0','decide','2026-01-05T09:02:00.000000+00:00',NULL,NULL);
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
INSERT INTO "cases" VALUES(1,4,0,'a-0-0',0,1,0.642,2,0.439273178404209,1);
INSERT INTO "cases" VALUES(1,4,1,'a-0-1',0,0,0.744,2,4.07284744093505790552e-01,1);
INSERT INTO "cases" VALUES(1,4,2,'a-0-2',0,1,0.018,0,4.48571867181620231868e-01,0);
INSERT INTO "cases" VALUES(1,4,3,'a-0-3',0,0,0.453,1,0.810825982993536,0);
INSERT INTO "cases" VALUES(1,4,4,'a-0-4',0,0,0.341,1,0.253824952640444,0);
INSERT INTO "cases" VALUES(1,4,5,'a-0-5',0,0,0.483,1,2.53791948139147516272e-01,0);
INSERT INTO "cases" VALUES(1,4,6,'a-0-6',0,0,0.995,3,6.48019786267805875112e-01,1);
INSERT INTO "cases" VALUES(1,4,7,'a-0-7',0,0,0.746,2,6.41511696580937429423e-01,1);
INSERT INTO "cases" VALUES(1,4,8,'a-0-8',0,0,0.917,3,6.99637555283842194064e-01,1);
INSERT INTO "cases" VALUES(1,4,9,'a-0-9',0,0,0.405,1,1.41517281258914939812e-02,0);
INSERT INTO "cases" VALUES(1,4,10,'a-0-10',0,0,0.087,0,5.79924990903049053514e-02,0);
INSERT INTO "cases" VALUES(1,4,11,'a-0-11',0,1,0.239,0,5.82515989243886589399e-01,0);
INSERT INTO "cases" VALUES(1,8,0,'a-1-0',1,0,0.217,0,5.42869736833402560804e-01,0);
INSERT INTO "cases" VALUES(1,8,1,'a-1-1',1,1,0.292,1,9.10010039463364228673e-01,0);
INSERT INTO "cases" VALUES(1,8,2,'a-1-2',1,0,0.892,3,6.48562626652228635393e-01,1);
INSERT INTO "cases" VALUES(1,8,3,'a-1-3',1,1,0.024,0,1.12441657373996029001e-01,0);
INSERT INTO "cases" VALUES(1,8,4,'a-1-4',1,0,0.226,0,3.92897625345953405151e-01,0);
INSERT INTO "cases" VALUES(1,8,5,'a-1-5',1,0,0.064,0,0.616303744424502,0);
INSERT INTO "cases" VALUES(1,8,6,'a-1-6',1,0,0.558,2,2.20166694222385328494e-01,1);
INSERT INTO "cases" VALUES(1,8,7,'a-1-7',1,0,0.677,2,7.53960991933745772186e-01,1);
INSERT INTO "cases" VALUES(1,8,8,'a-1-8',1,1,0.274,1,1.91562476858879393581e-01,0);
INSERT INTO "cases" VALUES(1,8,9,'a-1-9',1,0,0.689,2,9.6331787086195963532e-01,1);
INSERT INTO "cases" VALUES(1,8,10,'a-1-10',1,1,0.489,1,7.76674770523813284839e-01,0);
INSERT INTO "cases" VALUES(1,8,11,'a-1-11',1,1,0.101,0,2.83468867957334946794e-01,0);
INSERT INTO "cases" VALUES(1,12,0,'a-2-0',2,1,0.094,0,6.3067726434516968581e-03,0);
INSERT INTO "cases" VALUES(1,12,1,'a-2-1',2,0,0.352,1,4.55900265288423423015e-01,0);
INSERT INTO "cases" VALUES(1,12,2,'a-2-2',2,1,0.008,0,0.572639023608588,0);
INSERT INTO "cases" VALUES(1,12,3,'a-2-3',2,1,0.866,3,2.02102922420761221822e-01,1);
INSERT INTO "cases" VALUES(1,12,4,'a-2-4',2,1,0.119,0,4.85846288123844893824e-01,0);
INSERT INTO "cases" VALUES(1,12,5,'a-2-5',2,1,0.153,0,9.00281767279335731757e-01,0);
INSERT INTO "cases" VALUES(1,12,6,'a-2-6',2,1,0.686,2,1.72548826039940150778e-01,1);
INSERT INTO "cases" VALUES(1,12,7,'a-2-7',2,1,0.826,3,3.86603622548684300319e-01,1);
INSERT INTO "cases" VALUES(1,12,8,'a-2-8',2,0,0.136,0,3.77908219492431696195e-01,0);
INSERT INTO "cases" VALUES(1,12,9,'a-2-9',2,0,0.226,0,5.43031483012486271277e-01,0);
INSERT INTO "cases" VALUES(1,12,10,'a-2-10',2,1,0.976,3,5.41661328060602187406e-01,1);
INSERT INTO "cases" VALUES(1,12,11,'a-2-11',2,1,0.425,1,0.834768668192015,0);
INSERT INTO "cases" VALUES(1,17,0,'b-1',3,1,0.3,1,9.94252203551649893498e-02,1);
INSERT INTO "cases" VALUES(1,21,0,'a-3-0',4,0,0.113,0,9.06657400658252510261e-01,1);
INSERT INTO "cases" VALUES(1,21,1,'a-3-1',4,0,0.191,0,5.62343806218957742437e-01,1);
INSERT INTO "cases" VALUES(1,21,2,'a-3-2',4,0,0.532,2,7.31624161576215903401e-01,1);
INSERT INTO "cases" VALUES(1,21,3,'a-3-3',4,1,0.065,0,7.5447431696320710337e-01,1);
INSERT INTO "cases" VALUES(1,21,4,'a-3-4',4,1,0.598,2,0.0622435344645369,1);
INSERT INTO "cases" VALUES(1,21,5,'a-3-5',4,1,0.462,1,8.64310958636026138712e-01,1);
INSERT INTO "cases" VALUES(1,21,6,'a-3-6',4,0,0.96,3,1.78495331403472734521e-01,1);
INSERT INTO "cases" VALUES(1,21,7,'a-3-7',4,0,0.998,3,8.11193614544337804339e-01,1);
INSERT INTO "cases" VALUES(1,21,8,'a-3-8',4,0,0.118,0,0.627077643553432,1);
INSERT INTO "cases" VALUES(1,21,9,'a-3-9',4,1,0.227,0,2.79426553189032089719e-01,1);
INSERT INTO "cases" VALUES(1,21,10,'a-3-10',4,1,0.926,3,8.70169283480844657496e-01,1);
INSERT INTO "cases" VALUES(1,21,11,'a-3-11',4,1,0.618,2,3.68623480274965054093e-01,1);
INSERT INTO "cases" VALUES(1,25,0,'a-4-0',5,1,0.743,2,7.07624485058220287214e-01,1);
INSERT INTO "cases" VALUES(1,25,1,'a-4-1',5,0,0.355,1,3.76728226704537538793e-01,1);
INSERT INTO "cases" VALUES(1,25,2,'a-4-2',5,0,0.602,2,8.15156956078022187917e-01,1);
INSERT INTO "cases" VALUES(1,25,3,'a-4-3',5,1,0.465,1,7.82818169442762057386e-01,1);
INSERT INTO "cases" VALUES(1,25,4,'a-4-4',5,1,0.799,3,1.45902210475590488059e-01,1);
INSERT INTO "cases" VALUES(1,25,5,'a-4-5',5,0,0.113,0,2.85814084434156567837e-01,1);
INSERT INTO "cases" VALUES(1,25,6,'a-4-6',5,0,0.462,1,8.16902490149849169753e-01,1);
INSERT INTO "cases" VALUES(1,25,7,'a-4-7',5,1,0.419,1,8.56363939311422073252e-01,1);
INSERT INTO "cases" VALUES(1,25,8,'a-4-8',5,0,0.04,0,2.64543163131020109268e-01,1);
INSERT INTO "cases" VALUES(1,25,9,'a-4-9',5,1,0.207,0,1.43709313807399374773e-01,1);
INSERT INTO "cases" VALUES(1,25,10,'a-4-10',5,1,0.791,3,9.66872822006184517995e-01,1);
INSERT INTO "cases" VALUES(1,25,11,'a-4-11',5,0,0.373,1,1.26742210162653190508e-01,1);
INSERT INTO "cases" VALUES(1,29,0,'a-5-0',6,0,0.967,3,3.27365404639522461494e-01,1);
INSERT INTO "cases" VALUES(1,29,1,'a-5-1',6,1,0.035,0,5.7296872630896156231e-01,1);
INSERT INTO "cases" VALUES(1,29,2,'a-5-2',6,1,0.895,3,1.53711763074546259311e-01,1);
INSERT INTO "cases" VALUES(1,29,3,'a-5-3',6,0,0.742,2,6.13399633491952922526e-01,1);
INSERT INTO "cases" VALUES(1,29,4,'a-5-4',6,1,0.066,0,5.18814947478778321077e-01,1);
INSERT INTO "cases" VALUES(1,29,5,'a-5-5',6,0,0.738,2,3.63851743021629370211e-01,1);
INSERT INTO "cases" VALUES(1,29,6,'a-5-6',6,1,0.352,1,8.04596521710774226221e-01,1);
INSERT INTO "cases" VALUES(1,29,7,'a-5-7',6,0,0.959,3,5.43153996338173628011e-01,1);
INSERT INTO "cases" VALUES(1,29,8,'a-5-8',6,0,0.433,1,9.61608233534196665814e-01,1);
INSERT INTO "cases" VALUES(1,29,9,'a-5-9',6,0,0.425,1,9.49317667508675300247e-01,1);
INSERT INTO "cases" VALUES(1,29,10,'a-5-10',6,1,0.143,0,5.73711163590645445431e-01,1);
INSERT INTO "cases" VALUES(1,29,11,'a-5-11',6,1,0.161,0,1.48982626271333518097e-01,1);
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
INSERT INTO "events" VALUES(1,1,'created',0,'{"library":"0.1.0","spec":{"constraints":{"parity":0.2},"false_positive_cost":1.0,"grid":[0.25,0.5,0.75],"groups":["women","men"],"guards":{"alpha":0.05,"floor":null,"highest":null,"lotteries":true,"lowest":null,"pause_if_broken":true,"pause_if_quiet_days":null,"step":null},"label_due_days":30.0,"learner":"safe-forecast","name":"credit","per_group":"","rounds":{"people":12,"seconds":null},"seed":0,"start":{"mode":"hold","threshold":0.5},"store":"cases"},"versions":{"numpy":"2.4.6","python":"3.11.7","scikit-learn":"1.9.1","scipy":"1.17.1"}}','2026-01-05T09:01:00.000000+00:00','python',NULL,NULL,'1defbfba9e9e7ed767769ddff7ca645b14c90e03501acedd3408d4bb40309433');
INSERT INTO "events" VALUES(1,2,'key-added',0,'{"created":"2026-01-05T09:02:00.000000+00:00","expires":null,"hash":"db93dfa19c6c69dc9601f8655a4377700a6b6b9cce5f546ed4b1b89bdcf3c0d0","id":"c9ce24eb3cb5","name":"application","scopes":["decide"]}','2026-01-05T09:03:00.000000+00:00','python',NULL,NULL,'da206e9358d6c710a33831e3032e94dd85b38025c10893b5937d6141c6df1408');
INSERT INTO "events" VALUES(1,3,'opened',0,'{"commitment":"97d03e4b3f345d3ccc6a1f68485dd6244b1d9f6884d2359ca136b874b6704919","guards":[],"mode":"hold","policy":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"waiting":""}','2026-01-05T09:04:00.000000+00:00','python',NULL,NULL,'025c4c53f6936f8c2daa368cb43166479281550a24feaa13609cdb5521885d6c');
INSERT INTO "events" VALUES(1,4,'decided',0,'{"digest":"1f4472dbd180665c81a49ceb0b2292e63f0fb57e621a8f4bea729d0722263fb3","people":12,"tally":[[0,0,0,1],[0,1,0,4],[0,2,1,2],[0,3,1,2],[1,0,0,2],[1,2,1,1]]}','2026-01-05T09:04:00.000000+00:00','python','batch 0','cca08160e488a1f2da98029741e5bd4354d7ce774d66d9ffad38751641fcc928','33aab6a1eb3e53481b94e2ee8cd8f674a4faa96babf1693c46b23cbbcfc15966');
INSERT INTO "events" VALUES(1,5,'closed',0,'{"counts":[[0,0,0,1],[0,1,0,4],[0,2,1,2],[0,3,1,2],[1,0,0,2],[1,2,1,1]],"labels":[],"people":12,"played":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"secret":"dc6d6e35fcb56545ce74f6cf605960ab354ae81d3c1d18ebc4070cb29a8507b6","why":"people"}','2026-01-05T09:04:00.000000+00:00','python',NULL,NULL,'d870f2d2ad4a32c3974c9046ce454251cabfc3c6fd48e26469a1bdc76267ff11');
INSERT INTO "events" VALUES(1,6,'outcomes',1,'{"aside":[],"digest":"89270808d791fce0c581541f68868186ca2ad4684417ac0d18d95c1cfd772802","tally":[[0,0,2,0,1],[0,0,2,1,1],[0,0,3,0,1],[0,1,2,1,1]]}','2026-01-05T09:05:00.000000+00:00','python',NULL,NULL,'359b95ad0d0c6dfe89e55720aeee4485e5a21fe5177d1bab9e36bf25802e6af1');
INSERT INTO "events" VALUES(1,7,'opened',1,'{"commitment":"e9a760e6e5e15a407f8193fec3197bebaf6f2c2380ba5173a61a5163513c5e6f","guards":[],"mode":"hold","policy":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"waiting":""}','2026-01-05T09:06:00.000000+00:00','python',NULL,NULL,'9308ff394145f627c6360a4084b7515d9d05a312f47f65faf74850fdb304a976');
INSERT INTO "events" VALUES(1,8,'decided',1,'{"digest":"68291910593db8c0634cface6513953622986be967f37e7a6070c8e1f55f4e8d","people":12,"tally":[[0,0,0,3],[0,2,1,3],[0,3,1,1],[1,0,0,2],[1,1,0,3]]}','2026-01-05T09:06:00.000000+00:00','python','batch 1','00e1c68d015b18f5e16396ffb2f13af446c85e7b09e0d7b0ee03a0b78cc8c565','c22c85c009d7a4e9d2afa2adb56c6a189bc4c4ec8bb5528b2db410028aad48cd');
INSERT INTO "events" VALUES(1,9,'closed',1,'{"counts":[[0,0,0,3],[0,2,1,3],[0,3,1,1],[1,0,0,2],[1,1,0,3]],"labels":[[0,0,2,0,1],[0,0,2,1,1],[0,0,3,0,1],[0,1,2,1,1]],"people":12,"played":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"secret":"a38ce69fe1aecf35531c2d95ac396d892e12b4a0e8ab2ee3349fe7686b496d91","why":"people"}','2026-01-05T09:06:00.000000+00:00','python',NULL,NULL,'7f131d3912a3a6f3322f3d4aebebf38e56cc9b4f1bd9fcb2cfc7fd54ba077ccc');
INSERT INTO "events" VALUES(1,10,'outcomes',2,'{"aside":[],"digest":"b0c32f5b3fd6123629cc2b9448443e9540846823d64c5fddc4db2f22715d26ad","tally":[[1,0,2,0,1],[1,0,2,1,1],[1,0,3,1,1]]}','2026-01-05T09:07:00.000000+00:00','python',NULL,NULL,'eb728ee2b3112cd7ab53e0a8133afa50c4989bff44853dc7a0a0182764d37a98');
INSERT INTO "events" VALUES(1,11,'opened',2,'{"commitment":"a96a5055b5c0aef57fc25d3981c16b9bfcaa4bbc94019cf7e87136af7295a1dd","guards":[],"mode":"hold","policy":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"waiting":""}','2026-01-05T09:09:00.000000+00:00','python',NULL,NULL,'3f7c50a2ffe8cb9ae7dd21be462494c91382b5531e60b3270bf180f4c0d183a6');
INSERT INTO "events" VALUES(1,12,'decided',2,'{"digest":"a2f657902902f4d5be35e2afd00863327837d2c9e4a8057391bffaa460ef6fcf","people":12,"tally":[[0,0,0,2],[0,1,0,1],[1,0,0,4],[1,1,0,1],[1,2,1,1],[1,3,1,3]]}','2026-01-05T09:09:00.000000+00:00','python','batch 2','d9864adda5d3e57a71410b02e03e9a1f7bc540dc9805eb354037ee4f9391e18e','9839ee2a9903a9ce713e1cc1050e3bb1a42a07f9a8137326fdc1beb2cac399e5');
INSERT INTO "events" VALUES(1,13,'closed',2,'{"counts":[[0,0,0,2],[0,1,0,1],[1,0,0,4],[1,1,0,1],[1,2,1,1],[1,3,1,3]],"labels":[[1,0,2,0,1],[1,0,2,1,1],[1,0,3,1,1]],"people":12,"played":{"thresholds":[[[0.5,0.5]]],"weights":[[1.0]]},"secret":"d30083d420e7431a6f4fa82bb3f0e342539cbc702ecab0b118ff7fad911f0592","why":"people"}','2026-01-05T09:09:00.000000+00:00','python',NULL,NULL,'4783f3820fffdf842aabf198a1734116e18b388d1dceb2406f903ef81433204a');
INSERT INTO "events" VALUES(1,14,'outcomes',3,'{"aside":[],"digest":"735b25d5cfc879938f76c85724c17be7674dbc086f7f8ccaa35a39f4a508eba1","tally":[[2,1,2,1,1],[2,1,3,0,2]]}','2026-01-05T09:10:00.000000+00:00','python',NULL,NULL,'3aab4a8e3dcd79da9cbe27540e36e0357481384e10539025aebf8c55eb291723');
INSERT INTO "events" VALUES(1,15,'mode',3,'{"before":"hold","mode":"learn","policy":null,"reason":"enough seen"}','2026-01-05T09:11:00.000000+00:00','python',NULL,NULL,'776a4acc729134e64a2e89e21e09ba820c65c539473d5e2978a6cc74820c5ea6');
INSERT INTO "events" VALUES(1,16,'opened',3,'{"commitment":"e6cfddee49676fa78d74569fced2339090ce2fa40a8abc25c2fdff0f91123ee4","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"waiting":""}','2026-01-05T09:12:00.000000+00:00','python',NULL,NULL,'c9b395e2c53f6bfd5c84c96f40f47bb6e96555ae7b9b982677b62001ce995133');
INSERT INTO "events" VALUES(1,17,'decided',3,'{"digest":"25af8a83151bfa9a42852a7b9b65abdb679088d741d87acb9f50b85aeece9e3a","people":1,"tally":[[1,1,1,1]]}','2026-01-05T09:12:00.000000+00:00','python',NULL,NULL,'40baf5a6a46b5fcc79a182e342bbfb71eb9ed8ec676815d7d61e4b6f1f13fd2c');
INSERT INTO "events" VALUES(1,18,'overridden',3,'{"accepted":0,"before":1,"bin":1,"group":1,"id":"b-1","reason":"a person knows better"}','2026-01-05T09:13:00.000000+00:00','python',NULL,NULL,'2846391c6d42f4187a8eb213b96070f773bced5908af499080e13a1bc75ea400');
INSERT INTO "events" VALUES(1,19,'closed',3,'{"counts":[],"labels":[[2,1,2,1,1],[2,1,3,0,2]],"people":1,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"3e3c9a2ab44a54c5f5b1c2eaf22cbbcb896c5d63eabe60825a3cfc890181ddbf","why":"call"}','2026-01-05T09:14:00.000000+00:00','python',NULL,NULL,'d7abd680d001d502cf71b566c9d5972bd60e5f4d4fa5aab9593ccf89cf3735ec');
INSERT INTO "events" VALUES(1,20,'opened',4,'{"commitment":"e43c4d60677530a2170cccb44e6cb3ae8b9df7e21e26ae44e27784b3bfe6e38c","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"waiting":""}','2026-01-05T09:15:00.000000+00:00','python',NULL,NULL,'a1b2e428651fcec1b976eae7442fc53c1380c91cbf112183951e60382eca7493');
INSERT INTO "events" VALUES(1,21,'decided',4,'{"digest":"52c13273481fef1c6543aa79dbf439c12a481e855cfb66c8c90489ee4496f43f","people":12,"tally":[[0,0,1,3],[0,2,1,1],[0,3,1,2],[1,0,1,2],[1,1,1,1],[1,2,1,2],[1,3,1,1]]}','2026-01-05T09:15:00.000000+00:00','python','batch 3','b28f3f91dceef8164d7198fae517ffc6c0b9628a17df30f5759a52433c33a7ef','ad9b39c367c955475a1ed0f160a68733318d917f31f1a37cfa3258415fcdc75d');
INSERT INTO "events" VALUES(1,22,'closed',4,'{"counts":[[0,0,1,3],[0,2,1,1],[0,3,1,2],[1,0,1,2],[1,1,1,1],[1,2,1,2],[1,3,1,1]],"labels":[],"people":12,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"ceb612a83340cc52f5232fe0a4ac636191d8d3e84f6131bb9a740acb4d94c56b","why":"people"}','2026-01-05T09:15:00.000000+00:00','python',NULL,NULL,'cf8570946cfa544734fe5df7ff78f7506abab7d03ddd401502d3732e656afd3b');
INSERT INTO "events" VALUES(1,23,'outcomes',5,'{"aside":[],"digest":"bf8ecf56cbc8d87972263804520b12c32e055e30c88adfd4cf977f2124729afc","tally":[[4,0,0,0,2],[4,0,0,1,1],[4,0,2,1,1],[4,0,3,0,2],[4,1,0,0,2],[4,1,1,0,1],[4,1,2,0,1],[4,1,3,0,1]]}','2026-01-05T09:16:00.000000+00:00','python',NULL,NULL,'25d22a6ff3add51f31b77aeec00ca5b6e37e5657b1288fe5e1a8e94ad695f707');
INSERT INTO "events" VALUES(1,24,'opened',5,'{"commitment":"691f2d1b981cd2a55deeb0328d2f7825352f449f26226e1539a6e0448bbc7b9e","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"waiting":""}','2026-01-05T09:17:00.000000+00:00','python',NULL,NULL,'322fd740b22d178f08c6d5697022370039035c8acaf9416b3b8510bf5a238612');
INSERT INTO "events" VALUES(1,25,'decided',5,'{"digest":"31124f8d0cf6ced82e787734cf5a1fde0d39be586cc12f77e3946b570ade3029","people":12,"tally":[[0,0,1,2],[0,1,1,3],[0,2,1,1],[1,0,1,1],[1,1,1,2],[1,2,1,1],[1,3,1,2]]}','2026-01-05T09:17:00.000000+00:00','python','batch 4','ec7201022cbb066262348fbd33bd684ff71a8749ad25010610e083afcadd17cc','ec5b44449febf16a0ca095ad925705c836964badad7c16e5bbd79511f35f64c6');
INSERT INTO "events" VALUES(1,26,'closed',5,'{"counts":[[0,0,1,2],[0,1,1,3],[0,2,1,1],[1,0,1,1],[1,1,1,2],[1,2,1,1],[1,3,1,2]],"labels":[[4,0,0,0,2],[4,0,0,1,1],[4,0,2,1,1],[4,0,3,0,2],[4,1,0,0,2],[4,1,1,0,1],[4,1,2,0,1],[4,1,3,0,1]],"people":12,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"a0ebc7864dd19ceb627b11e57c0d05ba84c88549c8d1c8ad41c93d15deddc0bf","why":"people"}','2026-01-05T09:17:00.000000+00:00','python',NULL,NULL,'8db8e37f88c88aa777c20469c6aa909b315ba973be9d38954bdb7b334288d91d');
INSERT INTO "events" VALUES(1,27,'outcomes',6,'{"aside":[],"digest":"c18a07a3d79fc3c549c429564eb64201a232e258288deec3fda6a300ab762d99","tally":[[5,0,0,0,1],[5,0,0,1,1],[5,0,1,0,2],[5,0,2,0,1],[5,1,0,0,1],[5,1,1,1,2],[5,1,2,0,1],[5,1,3,0,1],[5,1,3,1,1]]}','2026-01-05T09:18:00.000000+00:00','python',NULL,NULL,'878f858da41fdbd9229743a8f06578164bca52759d65b2a42e86b40a2d4107df');
INSERT INTO "events" VALUES(1,28,'opened',6,'{"commitment":"d90fa9f84670d2b50f05d302b60d40e71f05f9d47a1a0459c2cd7a4b2e99d838","guards":[],"mode":"learn","policy":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"proposal":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.020000000000000018]]},"waiting":""}','2026-01-05T09:19:00.000000+00:00','python',NULL,NULL,'4a799a8926e53f7fa2b8f11312fd943b2e32d6a22998a234aa34dbd73e5a5b2d');
INSERT INTO "events" VALUES(1,29,'decided',6,'{"digest":"2b56c2758952957bda18a99057feacfbf65698d47e5a9d3e5bb0f7abb4bdc361","people":12,"tally":[[0,1,1,2],[0,2,1,2],[0,3,1,2],[1,0,1,4],[1,1,1,1],[1,3,1,1]]}','2026-01-05T09:19:00.000000+00:00','python','batch 5','6df07fa5ae314de4bb9d3300aee678fc65bdd24c7f0464c1a7101b2118b1dbec','40d929b919e14804eb404e50357885f1babebbf9148a753cc8e1feeec250ede7');
INSERT INTO "events" VALUES(1,30,'closed',6,'{"counts":[[0,1,1,2],[0,2,1,2],[0,3,1,2],[1,0,1,4],[1,1,1,1],[1,3,1,1]],"labels":[[5,0,0,0,1],[5,0,0,1,1],[5,0,1,0,2],[5,0,2,0,1],[5,1,0,0,1],[5,1,1,1,2],[5,1,2,0,1],[5,1,3,0,1],[5,1,3,1,1]],"people":12,"played":{"thresholds":[[["-inf","-inf"]],[["inf","inf"]]],"weights":[[0.98],[0.02]]},"secret":"bdb99ebc3368618aa067b2617fe77838f1401266458d0cbc3576e1eb14e5bb87","why":"people"}','2026-01-05T09:19:00.000000+00:00','python',NULL,NULL,'7b69c6c1c47758861fce47103f760a24736f4c0d736add5e46f454a1ae43a54e');
INSERT INTO "events" VALUES(1,31,'outcomes',7,'{"aside":[],"digest":"f5858ea510ff22596578f21e088207516862e135d8ce1ccfa951ef06a20b2c3f","tally":[[6,0,1,0,1],[6,0,1,1,1],[6,0,2,0,1],[6,0,2,1,1],[6,0,3,0,2],[6,1,0,0,1],[6,1,0,1,2],[6,1,1,0,1],[6,1,3,1,1]]}','2026-01-05T09:20:00.000000+00:00','python',NULL,NULL,'89516a316dbea362065dac2a3f95bb2c2500cd019fa4f09c0e559c33e6204397');
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
INSERT INTO "gates" VALUES(1,'credit',X'1FC1AE894251A9425FC5DDE20364A6D99B149D9E448D727D0F20E1ED72685749',31,'89516a316dbea362065dac2a3f95bb2c2500cd019fa4f09c0e559c33e6204397');
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
